SET ?p AS "\d+"

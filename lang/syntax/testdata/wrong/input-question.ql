INPUT "name" SET ?n

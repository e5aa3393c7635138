FOR ?u IN ["https://a.example", "https://b.example"] DO TRY FETCH ?u TIMEOUT 3 SECONDS SET ?r EMIT LINE ?u, " ", ?r.status CATCH ?e EMIT LINE ?u, " down" END END

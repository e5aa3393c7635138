start session set "visits" as !session('visits') default 0+1 of !session
if !request ( 'path' ) = "/logout" then end session emit "Bye" stop end
emit !session.visits, !GET, !get(), !Get('a').b

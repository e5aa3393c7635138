gather "Where shall we ship?" fields name text required, email EMAIL required, qty integer min 1 max 10 default 1,
size choice ["S","M","L"], extra choices {gift:"Gift wrap",fast:"Express"}, "your mood" long text label "Anything else?" help "For the driver",
When date, news boolean, photo file,link url,tel phone,pin secret pattern '[0-9]{4}',n number,t time
within 7 days set ?form
gather "Who?" fields name text, age integer, note text within 1 day to "customer" set ?f
gather "Who?" fields name text to "customer" -- the one who asks
 within 1 day set ?f
gather "name" to "customer" set ?f

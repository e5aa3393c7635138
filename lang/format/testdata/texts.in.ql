emit 'it''s {?x} \n', "tab	here \t \u0041\u00e9\/ \u{1F600} \ud83d\ude00 \u200d \u0000 \u{301}", "\"q\" \\ \{?x} \{x} { } {?1} {! } \{=1}"
emit "{?x}{!get('a')}{=1+2}{=upper("a"+'b')}{ ?x}", "{={a:1}.a}", "{?x.y[0]}{?x  default  "none"}"
emit html "<b>{?x}</b>", HTML   """<i>{?x}</i>"""
emit "", '', """""", "a" + 'b'
emit "{= 1 /* one */ }", "{=[1,2,"x{?x}"]}", "{\u003fx}", "\{\u{3f}x}", "\n\r\t\b\f"
set ?x as 1

EMIT 'it''s {?x} \n',
  "tab\there \t Aé/ 😀 😀 \u200D \u0000 \u0301",
  "\"q\" \\ \{?x} {x} { } {?1} {! } \{=1}"
EMIT "{?x}{!GET('a')}{=1 + 2}{=UPPER("a" + 'b')}{ ?x}",
  "{={a: 1}.a}",
  "{?x.y[0]}{?x DEFAULT "none"}"
EMIT HTML "<b>{?x}</b>", HTML """<i>{?x}</i>"""
EMIT "", '', """""", "a" + 'b'
EMIT "{= 1 /* one */ }", "{=[1, 2, "x{?x}"]}", "\{?x}", "\{?x}", "\n\r\t\b\f"
SET ?x AS 1

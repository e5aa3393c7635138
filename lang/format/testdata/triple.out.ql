SET ?t AS """
  Hello {?x},

    indented {=1 + 1}
  """
IF ?x THEN
  SET ?t AS """
    <p>{?x}</p>
      <b>   </b>

    </p>
    """
  EMIT HTML """<ul>
      {!GET('a')}
      </ul>
      """, """ends
     here"""
  EMIT """
    a tab
      b
    """
  EMIT [
      """
        in a list
        """,
      2
    ],
    f("""
         argument
        """, 1)
END
EMIT """
  less
  indented
  """ + "x"
EMIT """\{?x} \u0041 "quoted" {=[1,
   2]} and {= -- a comment
   ?x} tail
  """
EMIT """
    """, """

    """
SET ?x AS 1
DEFINE f(?a, ?b)
END

set ?t as """
Hello {?x},

  indented {=1+1}
"""
if ?x then
set ?t as """
      <p>{?x}</p>
        <b>   </b>
   
      </p>
      """
    emit html """<ul>
    {!get('a')}
    </ul>
    """, """ends
     here"""
  emit """
	a tab
	  b
	"""
    emit ["""
  in a list
  """, 2], f("""
 argument
""", 1)
end
emit """
   less
 indented
    """ + "x"
emit """\{?x} \u0041 "quoted" {=[1,
   2]} and {= -- a comment
   ?x} tail
    """
emit """
""", """

"""
set ?x as 1
define f(?a, ?b) end

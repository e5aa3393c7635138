emit 1
if true then
emit 2emit """
  a
  """
end	 

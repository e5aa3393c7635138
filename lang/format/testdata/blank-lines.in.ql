

emit 1



emit 2
emit 3

-- comment


-- comment

emit 4

if true then



  emit 5


  -- end



else

  -- empty

end



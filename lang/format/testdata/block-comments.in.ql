if true then
      /* one
         two
           three */
      emit 1 /* four
  five */
/*
six
*/
end

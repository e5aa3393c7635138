IF TRUE THEN
  /* one
     two
       three */
  EMIT 1 /* four
  five */
  /*
  six
  */
END

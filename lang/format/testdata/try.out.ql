TRY
  EMIT 1
CATCH
  EMIT 2
END
TRY
  FAIL "x" CODE "y"
CATCH ?e
  IF ?e.code != "y" THEN
    FAIL ?e
  END
END
TRY -- risky
CATCH ?e -- what went wrong
END -- done
TRY
  EMIT 1
FINALLY -- always
  EMIT 2
END
TRY
  EMIT 1
CATCH ?e
  EMIT 2
FINALLY
  EMIT 3
END

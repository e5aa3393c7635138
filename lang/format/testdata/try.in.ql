try emit 1 catch emit 2 end
try fail "x" code "y" catch ?e if ?e.code!="y" then fail ?e end end
TRY -- risky
CATCH ?e -- what went wrong
END -- done
try emit 1 finally -- always
emit 2 end
try emit 1 catch ?e emit 2 finally emit 3 end

try emit 1 catch emit 2 end
try fail "x" code "y" catch ?e if ?e.code!="y" then fail ?e end end
TRY -- risky
CATCH ?e -- what went wrong
END -- done

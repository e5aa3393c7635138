echo "hello";
EMIT "next"

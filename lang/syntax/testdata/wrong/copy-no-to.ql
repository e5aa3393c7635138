COPY "/a" "/b"

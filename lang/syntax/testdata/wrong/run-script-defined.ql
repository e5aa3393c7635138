DEFINE script(?x) RETURN ?x END
RUN script("a")

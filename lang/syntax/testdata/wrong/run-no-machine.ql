RUN "ls" SET ?out

-- first

/* second */ -- third
/* a block
   of text */

INCLUDE "/lib/{?name}.ql"

RAISE "no"

if ?x > 1:
    print("big")
else:
    print("small")

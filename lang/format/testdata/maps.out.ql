SET ?a AS {}
SET ?a AS {a: 1, "b c": 2, 'd': 3}
SET ?a AS {Select: 1, end: 2}
SET ?a AS {
  name: "x",
  items: [{a: 1, b: 2}, {a: 3, b: 4}],
  nested: {x: {y: 1}}
}
SET ?a AS {
  title: "a text that takes some room",
  body: "another text that takes some room",
  tail: "a third text"
}

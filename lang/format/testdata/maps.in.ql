set ?a as {} set ?a as {a:1,"b c":2,'d':3,} set ?a as { Select : 1, end: 2 }
set ?a as {name: "x",
  items: [{a: 1, b: 2}, {a: 3, b: 4}], nested: {x: {y: 1}}}
set ?a as {title: "a text that takes some room", body: "another text that takes some room", tail: "a third text"}

SET ?a AS []
SET ?a AS []
SET ?a AS [1, 2, 3]
SET ?a AS [1, 2]
SET ?a AS []
SET ?a AS [
  1,
  2,
  3
]
SET ?a AS [
  [1, 2],
  [
    3,
    4
  ]
]
SET ?a AS [
  "a text that takes some room",
  "another text that takes some room",
  "a third text that takes room"
]

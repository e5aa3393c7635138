SET ?a AS "a text that takes some room in the line"
  + "another text that takes some room"
  + ?a
  + "a third"
SET ?a AS ?a + 1
SET ?b AS (?first_long_name * ?second_long_name + ?third_long_name)
  / ((?fourth_long_name DEFAULT 1) - ?fifth_long_name)
SET ?c AS (
  ?first_long_name AND ?second_long_name
    OR ?third_long_name AND ?fourth_long_name
    OR ?fifth_long_name_x
)
SET ?first_long_name AS 1
SET ?second_long_name AS 1
SET ?third_long_name AS 1
SET ?fourth_long_name AS 1
SET ?fifth_long_name AS 1
SET ?fifth_long_name_x AS 1

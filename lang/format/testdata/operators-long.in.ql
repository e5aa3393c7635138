set ?a as "a text that takes some room in the line" + "another text that takes some room" + ?a + "a third"
set ?a as ?a
 + 1
set ?b as (?first_long_name * ?second_long_name + ?third_long_name) / (?fourth_long_name default 1 - ?fifth_long_name)
set ?c as (?first_long_name and ?second_long_name or ?third_long_name and ?fourth_long_name or ?fifth_long_name_x)
set ?first_long_name as 1 set ?second_long_name as 1 set ?third_long_name as 1 set ?fourth_long_name as 1
set ?fifth_long_name as 1 set ?fifth_long_name_x as 1

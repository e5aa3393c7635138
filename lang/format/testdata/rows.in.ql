select  * from t  set file "/a.csv"
set ?p as "/b.json" select 1 as a
  from t
 set  FILE   ?p+"x"
import ?rows   into  People
import [ {a:1} ] into "my people" set   ?r
import ?a_list_with_a_long_name + ?another_list_with_a_long_name into a_table_with_a_long_name set ?result
set ?rows as [] set ?a_list_with_a_long_name as [] set ?another_list_with_a_long_name as []
emit import(1)
define import(?x) return ?x end
import   file "/a.csv" into people
import file ?p + ".csv"   encoding  "latin1" as json   lines into "my people" bad ?b set ?r
import file "/a_folder_with_a_long_name/a_file_with_a_long_name.csv" into a_table as csv encoding "windows-1252" bad ?b set ?r

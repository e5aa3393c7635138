select  * from t SET FILE "/a.csv"
SET ?p AS "/b.json"
select 1 as a
  from t
  SET FILE ?p + "x"
IMPORT ?rows INTO People
IMPORT [{a: 1}] INTO "my people" SET ?r
IMPORT ?a_list_with_a_long_name + ?another_list_with_a_long_name
  INTO a_table_with_a_long_name
  SET ?result
SET ?rows AS []
SET ?a_list_with_a_long_name AS []
SET ?another_list_with_a_long_name AS []
EMIT import(1)
DEFINE import(?x)
  RETURN ?x
END
IMPORT FILE "/a.csv" INTO people
IMPORT FILE ?p + ".csv" ENCODING "latin1" AS JSON LINES INTO "my people" BAD ?b SET ?r
IMPORT FILE "/a_folder_with_a_long_name/a_file_with_a_long_name.csv"
  INTO a_table
  AS CSV
  ENCODING "windows-1252"
  BAD ?b
  SET ?r

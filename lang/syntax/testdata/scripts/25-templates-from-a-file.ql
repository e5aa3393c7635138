READ "/templates/mail.txt" AS TEXT SET ?t
SET ?text AS REPLACE(REPLACE(?t, "[name]", !GET('name')), "[date]", FORMAT_TIME(NOW(), "2 January 2006"))
EMIT ?text

-- Posts are files: INCLUDE "/site/blog/_posts.ql". The name of one begins with its day, its
-- first line is the title, and blank lines stand between its paragraphs.
DEFINE folder AS "/site/blog/_posts"

-- The post of a name, or null.
DEFINE post(?slug)
  IF NOT MATCHES(?slug, '^\d{4}-\d\d-\d\d-[a-z0-9-]{1,80}$') THEN
    RETURN
  END
  READ "{=folder}/{?slug}.txt" OPTIONAL SET ?text
  IF ?text IS NULL THEN
    RETURN
  END
  SET ?parts AS MAP(SPLIT(TRIM(?text), "\n\n"), ?p -> TRIM(?p))
  SET ?day AS LEFT(?slug, 10)
  RETURN {
    slug: ?slug,
    title: FIRST(?parts),
    day: ?day,
    written: FORMAT_TIME(?day, "D MMMM YYYY"),
    paragraphs: SLICE(?parts, 1),
    summary: SHORTEN(?parts[1] DEFAULT "", 160)
  }
END

-- The latest posts, the last one first.
DEFINE latest(?most)
  LIST folder SET ?files
  SET ?names AS FILTER(COLUMN(?files, "name"), ?n -> ENDS_WITH(?n, ".txt"))
  SET ?posts AS []
  FOR ?name IN SLICE(REVERSE(SORT(?names)), 0, ?most) DO
    SET ?post AS post(SLICE(?name, 0, -4))
    IF ?post THEN
      APPEND ?post TO ?posts
    END
  END
  RETURN ?posts
END

package main

import "fmt"

// functionSetup gives the names that the calls of functions use.
const functionSetup = textsSetup + listsSetup + mapsSetup + deepSetup + `
SET ?spaces AS REPEAT(" ", 1000000)
SET ?wideSpaces AS REPEAT(CHARACTER(8195), 300000)
SET ?commas AS REPEAT("a,", 300000)
SET ?near AS REPEAT("a", 50) + "b"
SET ?near3 AS "aab"
SET ?nearL AS REPEAT("a", 3000) + "b"
SET ?half AS REPEAT("a", 500000) + "b"
SET ?lines AS REPEAT(CHARACTER(10), 300000)
SET ?digits AS REPEAT("1", 1000000)
SET ?zeros AS "0." + REPEAT("0", 1000000)
SET ?bytes AS BYTES(?eM)
SET ?f AS 1234567.891
SET ?huge AS 1.7976931348623157e308
SET ?tiny AS 4.9e-324
SET ?json AS TO_JSON(?ints)
SET ?jsonF AS TO_JSON(MAP(?floats, ?x -> ?x * 1.1e100))
SET ?jsonD AS TO_JSON(?deep)
SET ?jsonM AS "[" + REPEAT('{"a":1},', 100000) + "1]"
SET ?jsonE AS '"' + REPEAT('\u00e9', 150000) + '"'
SET ?jsonL AS "[" + REPEAT("[],", 300000) + "1]"
SET ?jsonN AS "[" + REPEAT("null,", 200000) + "1]"
SET ?jsonK AS TO_JSON(?many)
SET ?jsonT AS "[" + REPEAT('"",', 300000) + "1]"
SET ?jsonX AS REPEAT("[", 900)
SET ?jsonP AS "[0." + REPEAT("1", 900000) + "]"
SET ?rows AS MAP(RANGE(1, 5000), ?i -> {id: ?i, name: "n{?i}", note: 'say "x", y'})
SET ?rowsL AS MAP(RANGE(1, 5000), ?i -> [?i, "a", 1.5])
SET ?csv AS TO_CSV(?rows)
SET ?csvQ AS "a" + CHARACTER(10) + '"' + REPEAT('""', 300000) + '"'
SET ?csvW AS JOIN(MAP(RANGE(1, 5000), ?i -> "column {?i}"), ",") + CHARACTER(10) + REPEAT(",", 4999)
SET ?xmlE AS "<a>" + REPEAT("<b/>", 100000) + "</a>"
SET ?xmlA AS "<a>" + REPEAT('<b c="d" e="f"/>', 30000) + "</a>"
SET ?xmlN AS "<a>" + REPEAT('<c:b xmlns:c="d" c:e=""/>', 20000) + "</a>"
SET ?xmlM AS "<a>" + REPEAT("x<b/>", 100000) + "</a>"
SET ?xmlR AS "<a>" + REPEAT("&lt;", 200000) + "</a>"
SET ?xmlC AS "<a>" + REPEAT("<!---->", 100000) + "</a>"
SET ?xmlP AS "<a>" + REPEAT("<?p?>", 100000) + "</a>"
SET ?xmlD AS REPEAT("<a>", 200) + REPEAT("</a>", 200)
SET ?xmlV AS {a: {b: MAP(RANGE(1, 20000), ?i -> {"@id": ?i, c: "x"})}}
SET ?yamlL AS REPEAT("- a" + CHARACTER(10), 50000)
SET ?yamlF AS "[" + REPEAT("1,", 50000) + "1]"
SET ?yamlN AS "[" + REPEAT("1.7e308,", 20000) + "1]"
SET ?yamlP AS "[" + REPEAT("? a,", 30000) + "1]"
SET ?yamlM AS JOIN(MAP(RANGE(1, 10000), ?i -> "key {?i}: value {?i}"), CHARACTER(10))
SET ?yamlC AS REPEAT("#" + CHARACTER(10), 100000) + "1"
SET ?yamlB AS "- |" + CHARACTER(10) + REPEAT("  a" + CHARACTER(10), 50000)
SET ?yamlQ AS '"' + REPEAT('\x41', 50000) + '"'
SET ?yamlD AS REPEAT("- ", 400)
SET ?yamlX AS "a: &a [1,2,3,4,5,6,7,8,9,10]" + CHARACTER(10) + "b: [" + REPEAT("*a,", 5000) + "1]"
SET ?yamlW AS JOIN(MAP(RANGE(1, 5000), ?i -> "- a: 1 # c" + CHARACTER(10) + "  # d" + CHARACTER(10) + "  b: 2"), CHARACTER(10))
SET ?zip AS TO_ZIP({"a": ?mixM})
SET ?zipF AS TO_ZIP(FROM_ENTRIES(MAP(RANGE(1, 5000), ?i -> ["file {?i}", "x"])))
SET ?zipD AS TO_ZIP(FROM_ENTRIES(MAP(RANGE(1, 500), ?i -> ["file {?i}", REPEAT("x", 40)])))
SET ?gzip AS GZIP(?mixM)
SET ?gzipA AS GZIP(?aM)
SET ?gzipM AS FROM_HEX(REPEAT(HEX(GZIP("")), 5000))
SET ?gzipB AS FROM_HEX("1f8b08000000000000ff" + REPEAT("000000ffff", 40000))
SET ?gzipT AS FROM_HEX("1f8b08000000000000ff" + REPEAT("04c081000000000090ff6b100007020000000040feaf41001c080000000000f9bf060170200000000000e4ff1a", 4000))
SET ?noise AS JOIN(MAP(RANGE(1, 3000), ?i -> SHA256(TEXT(?i))))
SET ?b64 AS BASE64(?eM)
SET ?hex AS HEX(?eM)
SET ?percent AS URL_ENCODE(?eM)
SET ?query AS QUERY_STRING(?wide)
SET ?queryS AS REPEAT("a=b&", 200000)
SET ?amps AS REPEAT("&", 900000)
SET ?url AS "https://example.com/" + REPEAT("a/", 300000) + "?" + REPEAT("a=b&", 50000)
SET ?time AS "2026-06-01T08:30:00Z"
SET ?template AS REPEAT("{a}", 200000)
SET ?braces AS REPEAT("{", 900000)
SET ?unknown AS REPEAT("{" + REPEAT("b", 1000) + "}", 500)
SET ?groups AS MAP(RANGE(1, 20000), ?i -> TEXT(?i % 100))
SET ?dollars AS REPEAT("$0", 1000)
SET ?columns AS MAP(RANGE(1, 20000), ?i -> {a: ?i})
SET ?longRows AS MAP(RANGE(1, 20), ?i -> ?many)
SET ?long38 AS REPEAT("9", 36) + ".99"
SET ?money AS DECIMAL("1234.56")
SET ?wide38 AS DECIMAL("12345678901234567890.123456789012345678")
SET ?tenth38 AS DECIMAL("0.12345678901234567890123456789012345678")
SET ?decimals AS MAP(RANGE(1, 20000), ?i -> DECIMAL(?i) / 8)
SET ?style AS "1.234,50"
SET ?p AS 0`

// functionCalls are calls of every function of the library, small and extreme. A
// test sees to it that none is missing.
var functionCalls = map[string][]string{
	"LENGTH":      {`LENGTH(?a1)`, `LENGTH(?eM)`, `LENGTH(?aM)`},
	"UPPER":       {`UPPER(?a1)`, `UPPER("é")`, `UPPER(?eM)`, `UPPER(?aM)`, `UPPER(REPEAT("ß", 400000))`, `UPPER(REPEAT("ΐ", 300000))`, `UPPER(?digits)`},
	"LOWER":       {`LOWER("ABC")`, `LOWER(?eM)`, `LOWER(REPEAT("É", 400000))`, `LOWER(REPEAT("Σ", 400000))`, `LOWER(REPEAT("Σ'", 300000))`, `LOWER(?aM)`},
	"CAPITALIZE":  {`CAPITALIZE(?a1)`, `CAPITALIZE(?aM)`, `CAPITALIZE(?eM)`},
	"TRIM":        {`TRIM(" a ")`, `TRIM(?spaces)`, `TRIM(?wideSpaces)`, `TRIM(?aM, "a")`, `TRIM(?eM, ?eM)`, `TRIM("a", ?mixM)`},
	"TRIM_START":  {`TRIM_START(" a")`, `TRIM_START(?spaces)`, `TRIM_START(?aM, "a")`},
	"TRIM_END":    {`TRIM_END("a ")`, `TRIM_END(?spaces)`, `TRIM_END(?aM, "a")`},
	"SPLIT":       {`SPLIT("a,b", ",")`, `SPLIT(?commas, ",")`, `SPLIT(?aM, "")`, `SPLIT(?eM, "")`, `SPLIT(?aM, ?near)`, `SPLIT(?aM, ?nearL)`, `SPLIT(?aM, ?near3)`, `SPLIT(?aM, ?half)`, `SPLIT(?aM, "aaaaaaaa")`},
	"LINES":       {`LINES("a")`, `LINES(?lines)`, `LINES(?aM)`},
	"WORDS":       {`WORDS("a b")`, `WORDS(?mixM)`, `WORDS(?wideSpaces)`, `WORDS(REPEAT("a ", 300000))`},
	"JOIN":        {`JOIN(?l3, ",")`, `JOIN(?ints, ",")`, `JOIN(?floats, ",")`, `JOIN(?texts)`, `JOIN(?long, ",")`, `JOIN(?nested, ",")`, `JOIN(?nulls, ",")`, `JOIN([?many, ?many])`},
	"REPLACE":     {`REPLACE("a-b", "-", "+")`, `REPLACE(?aM, "a", "b")`, `REPLACE(?commas, ",", ";")`, `REPLACE(?aM, ?near, "x")`, `REPLACE(?aM, ?near3, "x")`, `REPLACE(?aM, ?nearL, "x")`, `REPLACE(?aM, ?half, "x")`, `REPLACE(?aM, "aa", "b")`},
	"CONTAINS":    {`CONTAINS(?a1, "g")`, `CONTAINS(?aM, "b")`, `CONTAINS(?aM, ?near)`, `CONTAINS(?aM, ?near3)`, `CONTAINS(?aM, ?nearL)`, `CONTAINS(?aM, ?half)`, `CONTAINS(?mixM, "quick brown cat")`, `CONTAINS(?eM, "éè")`},
	"LIKE":        {`LIKE(?a1, "a%")`, `LIKE(?aM, "%b")`, `LIKE(?eM, "%_b")`, `LIKE(?aM, "%aaaaaaaaaaaaaaab%")`, `LIKE(?aM, ?aM)`, `LIKE(?aM, "%a%a%a%b")`},
	"STARTS_WITH": {`STARTS_WITH(?a1, "ab")`, `STARTS_WITH(?aM, ?half)`},
	"ENDS_WITH":   {`ENDS_WITH(?a1, "gh")`, `ENDS_WITH(?aM, ?copies[1])`},
	"POSITION":    {`POSITION(?a1, "g")`, `POSITION(?eM, "b")`, `POSITION(?aM, ?near)`, `POSITION(?aM, ?near3)`, `POSITION(?aM, ?nearL)`, `POSITION(?aM, ?half)`, `POSITION(?aM + "b", ?near)`},
	"SUBSTRING":   {`SUBSTRING(?a1, 1, 2)`, `SUBSTRING(?eM, 400000, 3)`, `SUBSTRING(?eM, -3)`, `SUBSTRING(?aM, 1)`},
	"LEFT":        {`LEFT(?a1, 2)`, `LEFT(?eM, 400000)`, `LEFT(?aM, 5000000)`},
	"RIGHT":       {`RIGHT(?a1, 2)`, `RIGHT(?eM, 400000)`, `RIGHT(?eM, 1)`},
	"SHORTEN":     {`SHORTEN(?a1, 4)`, `SHORTEN(?eM, 400000)`, `SHORTEN(?spaces, 900000)`},
	"PAD_LEFT":    {`PAD_LEFT(7, 3, "0")`, `PAD_LEFT("x", 900000, "é")`, `PAD_LEFT(?eM, 3)`, `PAD_LEFT(?huge, 3)`},
	"PAD_RIGHT":   {`PAD_RIGHT("a", 3)`, `PAD_RIGHT("x", 900000, "ab")`},
	"REPEAT":      {`REPEAT("a", 3)`, `REPEAT("a", 1000000)`, `REPEAT(?aM, 5)`},
	"FILL":        {`FILL("{a}", ?m3)`, `FILL(?template, ?m3)`, `FILL(?braces, ?m3)`, `FILL(?unknown, ?m3)`, `FILL(?unknown, ?wide)`, `FILL("{a}", {a: ?floats})`},
	"FORMAT_NUMBER": {`FORMAT_NUMBER(?f)`, `FORMAT_NUMBER(?f, 2, ?style)`, `FORMAT_NUMBER(?huge)`, `FORMAT_NUMBER(?huge, 100)`, `FORMAT_NUMBER(?tiny)`,
		`FORMAT_NUMBER(1, 100)`, `FORMAT_NUMBER(9007199254740993)`, `FORMAT_NUMBER(?round)`, `FORMAT_NUMBER(1234567, 2, "1 234,50")`},
	"SLUG":       {`SLUG("Crème brûlée")`, `SLUG(?mixM)`, `SLUG(?eM)`, `SLUG(?spaces)`, `SLUG(REPEAT("Ж", 400000))`},
	"CHARACTER":  {`CHARACTER(8364)`},
	"CODE_POINT": {`CODE_POINT("€")`},

	"MATCHES": {`MATCHES("order 4711", '\d{4}$')`, `MATCHES(?aM, 'b')`, `MATCHES(?aM, '[bc]')`, `MATCHES(?copies[0], '(x+x+)+y')`, `MATCHES(?copies[0], '(?:a?){20}b')`,
		`MATCHES(?a1, '(?:a?){100}b')`, `MATCHES("x", 'a{{?round % 500}}b')`, `MATCHES("x", '{?round}|a')`, `MATCHES("x", '(?i)[а-я]{?round}')`, `MATCHES("x", '\p{L}{?round}')`,
		`MATCHES("x", '((((a{5}){5}){5}){5}){?round}')`, `MATCHES(?eM, 'é+b')`},
	"FIND":     {`FIND("order 4711", '(\w+) (?P<id>\d+)')`, `FIND(?copies[0], '(a)(a)(a)(a)(a)(a)(a)(a)b')`, `FIND(?copies[0], '(a+)(a+)(a+)b')`, `FIND(?a1, '(x)|{?round}')`, `FIND("x", 'x')`, `FIND(?ints, ?x -> ?x < 0)`},
	"FIND_ALL": {`FIND_ALL("a1 b22", '\d+')`, `FIND_ALL(?copies[0], 'a')`, `FIND_ALL(?copies[0], '')`, `FIND_ALL(?copies[0], '(a)')`, `FIND_ALL(?copies[0], 'b')`, `FIND_ALL("x", '{?round}|x')`, `FIND_ALL("x", '((((a{5}){5}){5}){5}){?round}')`},
	"REPLACE_PATTERN": {`REPLACE_PATTERN("2026-06-01", '(\d+)-(\d+)-(\d+)', "$3.$2.$1")`, `REPLACE_PATTERN(?copies[0], 'a', 'b')`, `REPLACE_PATTERN(LEFT(?copies[0], 1000), '(a)', ?dollars)`,
		`REPLACE_PATTERN(?copies[0], '', 'b')`, `REPLACE_PATTERN("x", 'y', ?dollars)`},
	"SPLIT_PATTERN":  {`SPLIT_PATTERN("a, b;c", '[,;]\s*')`, `SPLIT_PATTERN(?copies[0], 'a')`, `SPLIT_PATTERN(?copies[0], '')`},
	"ESCAPE_PATTERN": {`ESCAPE_PATTERN("1+1")`, `ESCAPE_PATTERN(REPEAT("(", 500000))`, `ESCAPE_PATTERN(?aM)`},

	"ABS": {`ABS(-3)`, `ABS(-1.5)`}, "SIGN": {`SIGN(-3)`}, "ROUND": {`ROUND(2.5)`, `ROUND(?f, 2)`, `ROUND(?huge, 2)`, `ROUND(?tiny, 300)`, `ROUND(1e22, -5)`, `ROUND(9007199254740993, -3)`, `ROUND(?money, 1, "half even")`, `ROUND(?wide38, 2)`},
	"DIVIDE": {`DIVIDE(?money, 3, 2)`, `DIVIDE(?wide38, ?tenth38, 18)`, `DIVIDE(10, 3, 37)`},
	"FLOOR":  {`FLOOR(2.5)`}, "CEIL": {`CEIL(2.5)`}, "TRUNCATE": {`TRUNCATE(2.5)`}, "CLAMP": {`CLAMP(5, 1, 3)`},
	"POWER": {`POWER(2, 10)`, `POWER(1.0001, 100000)`, `POWER(3, 39)`, `POWER(-3, 600)`}, "SQRT": {`SQRT(2)`}, "EXP": {`EXP(1.5)`}, "LN": {`LN(2)`}, "LOG10": {`LOG10(2)`},
	"PI": {`PI()`}, "SIN": {`SIN(1e300)`, `SIN(1)`}, "COS": {`COS(1e300)`}, "TAN": {`TAN(1e300)`}, "ATAN2": {`ATAN2(1, 2)`},
	"LOG": {`LOG(8, 2)`, `LOG(81, 3)`}, "LOG2": {`LOG2(3)`}, "ASIN": {`ASIN(0.5)`}, "ACOS": {`ACOS(0.5)`}, "ATAN": {`ATAN(0.5)`},
	"GCD": {`GCD(12, 18)`, `GCD(7540113804746346429, 4660046610375530309)`}, "LCM": {`LCM(4, 6)`},
	"MIN":     {`MIN(?l3)`, `MIN(1, 2)`, `MIN(?ints)`, `MIN(?floats)`, `MIN(?texts)`, `MIN(?copies)`},
	"MAX":     {`MAX(?l3)`, `MAX(?ints)`, `MAX(?floats)`, `MAX(?copies)`, `MAX(?texts)`},
	"SUM":     {`SUM(?l3)`, `SUM(?ints)`, `SUM(?floats)`, `SUM([9007199254740993, ?huge, ?tiny])`, `SUM(?decimals)`},
	"PRODUCT": {`PRODUCT(?l3)`, `PRODUCT(MAP(?ints, ?i -> 1))`},
	"AVERAGE": {`AVERAGE(?l3)`, `AVERAGE(?ints)`, `AVERAGE(?floats)`},
	"MEDIAN":  {`MEDIAN(?l3)`, `MEDIAN(?ints)`, `MEDIAN(?floats)`},

	"COUNT": {`COUNT(?ints)`}, "FIRST": {`FIRST(?ints)`}, "LAST": {`LAST(?texts)`},
	"SLICE":     {`SLICE(?eM, 400000, -3)`, `SLICE(?aM, 1)`, `SLICE("hello", 1, 3)`, `SLICE(?l3, 1)`, `SLICE(?ints, 1)`, `SLICE(?texts, 1)`, `SLICE(?nested, 1)`},
	"INDEX_OF":  {`INDEX_OF(?l3, 2)`, `INDEX_OF(?ints, -1)`, `INDEX_OF(?floats, 1)`, `INDEX_OF(?texts, "x")`, `INDEX_OF(?long, ?long[15])`, `INDEX_OF(?nested, [0, -1])`, `INDEX_OF(?nulls, 1)`},
	"INSERT_AT": {`INSERT_AT(?l3, 1, 5)`, `INSERT_AT(?ints, 0, 5)`, `INSERT_AT(?ints, 0, "x")`, `INSERT_AT(?texts, 0, 5)`},
	"REMOVE_AT": {`REMOVE_AT(?l3, 1)`, `REMOVE_AT(?ints, 0)`, `REMOVE_AT(?texts, 0)`},
	"SORT":      {`SORT(?l3)`, `SORT(?ints)`, `SORT(?floats)`, `SORT(?texts)`, `SORT(?nested)`, `SORT(?copies)`, `SORT(?nulls)`, `SORT(REVERSE(RANGE(1, 100000)))`},
	"SORT_BY":   {`SORT_BY(?l3, ?x -> -?x)`, `SORT_BY(?ints, ?x -> ?x)`, `SORT_BY(?texts, ?x -> ?x)`, `SORT_BY(?nested, ?x -> ?x)`},
	"MIN_BY":    {`MIN_BY(?l3, ?x -> ?x)`, `MIN_BY(?ints, ?x -> ?x)`, `MIN_BY(?texts, ?x -> ?x)`, `MIN_BY(?nested, ?x -> ?x)`},
	"MAX_BY":    {`MAX_BY(?l3, ?x -> ?x)`, `MAX_BY(?ints, ?x -> ?x)`, `MAX_BY(?texts, ?x -> ?x)`, `MAX_BY(?long, ?x -> ?x)`},
	"FLAT_MAP":  {`FLAT_MAP(?l3, ?x -> [?x])`, `FLAT_MAP(?ints, ?x -> [?x])`, `FLAT_MAP(?nested, ?x -> ?x)`, `FLAT_MAP(?ints, ?x -> NULL)`},
	"INDEX_BY":  {`INDEX_BY(?l3, ?x -> ?x)`, `INDEX_BY(?ints, ?x -> ?x)`, `INDEX_BY(?groups, ?x -> ?x)`, `INDEX_BY(?floats, ?x -> ?x)`, `INDEX_BY(?long, ?x -> ?x)`, `INDEX_BY(?copies, ?x -> ?x)`},
	"REVERSE":   {`REVERSE(?l3)`, `REVERSE(?ints)`, `REVERSE(?texts)`},
	"UNIQUE":    {`UNIQUE(?l3)`, `UNIQUE(?ints)`, `UNIQUE(?floats)`, `UNIQUE(?texts)`, `UNIQUE(?nested)`, `UNIQUE(?copies)`, `UNIQUE(?long)`, `UNIQUE(?nulls)`, `UNIQUE(?bools)`, `UNIQUE(?longRows)`},
	"MAP":       {`MAP(?l3, ?x -> ?x)`, `MAP(?ints, ?x -> ?x)`, `MAP(?texts, ?x -> ?x)`, `MAP(?ints, ?x -> [?x])`},
	"FILTER":    {`FILTER(?l3, ?x -> ?x > 1)`, `FILTER(?ints, ?x -> ?x > 1)`, `FILTER(?texts, ?x -> TRUE)`},
	"REDUCE":    {`REDUCE(?l3, (?a, ?b) -> ?a + ?b, 0)`, `REDUCE(?ints, (?a, ?b) -> ?a + ?b, 0)`},
	"GROUP_BY":  {`GROUP_BY(?l3, ?x -> ?x % 2)`, `GROUP_BY(?ints, ?x -> ?x)`, `GROUP_BY(?groups, ?x -> ?x)`, `GROUP_BY(?floats, ?x -> ?x)`, `GROUP_BY(?long, ?x -> ?x)`, `GROUP_BY(?copies, ?x -> ?x)`, `GROUP_BY(?l3, ?x -> ?floats)`},
	"ANY":       {`ANY(?bools)`, `ANY([FALSE])`, `ANY(?ints, ?x -> ?x < 0)`},
	"ALL":       {`ALL(?ints)`, `ALL([TRUE])`, `ALL(?texts)`},
	"RANGE":     {`RANGE(1, 3)`, `RANGE(1, 100000)`},
	"FLATTEN":   {`FLATTEN([?l3, ?l3])`, `FLATTEN(?nested)`, `FLATTEN([?ints, ?texts])`, `FLATTEN(?ints)`},
	"CHUNK":     {`CHUNK(?l3, 2)`, `CHUNK(?ints, 1)`, `CHUNK(?texts, 1)`, `CHUNK(?ints, 1000)`},
	"ZIP":       {`ZIP(?l3, ?l3)`, `ZIP(?ints, ?texts)`, `ZIP(?ints, ?ints)`},
	"INTERSECT": {`INTERSECT(?l3, ?l3)`, `INTERSECT(?ints, ?ints)`, `INTERSECT(?texts, ?texts)`, `INTERSECT(?copies, ?copies)`, `INTERSECT(?nested, ?nested)`},
	"EXCEPT":    {`EXCEPT(?l3, [1])`, `EXCEPT(?ints, ?l3)`, `EXCEPT(?texts, ?l3)`, `EXCEPT(?copies, ?copies)`},
	"COLUMN":    {`COLUMN([?m3], "a")`, `COLUMN(?columns, "a")`, `COLUMN(?longRows, ?inMany)`},

	"KEYS": {`KEYS(?m3)`, `KEYS(?wide)`}, "VALUES": {`VALUES(?m3)`, `VALUES(?wide)`}, "ENTRIES": {`ENTRIES(?m3)`, `ENTRIES(?wide)`},
	"FROM_ENTRIES":   {`FROM_ENTRIES([["a", 1]])`, `FROM_ENTRIES(?pairs)`, `FROM_ENTRIES(MAP(?long, ?x -> [?x, 1]))`, `FROM_ENTRIES(MAP(?copies, ?x -> [?x, 1]))`, `FROM_ENTRIES(MAP(?copies, ?x -> {key: ?x, value: 1}))`},
	"HAS":            {`HAS(?m3, "a")`, `HAS(?wide, "key 7")`, `HAS(?many2, ?inMany)`, `HAS(?keys2, ?key)`},
	"MERGE":          {`MERGE(?m3, {b: 2})`, `MERGE(?wide, ?wide)`, `MERGE(?many, ?many2)`, `MERGE(?m3, ?many)`},
	"MERGE_DEEP":     {`MERGE_DEEP({a: ?m3}, {a: {b: 2}})`, `MERGE_DEEP({a: ?wide}, {a: ?wide})`, `MERGE_DEEP(?many, ?many2)`},
	"MAP_VALUES":     {`MAP_VALUES(?m3, ?v -> ?v)`, `MAP_VALUES(?wide, ?v -> 1)`, `MAP_VALUES(?many, (?v, ?k) -> ?k)`},
	"FILTER_ENTRIES": {`FILTER_ENTRIES(?m3, ?v -> TRUE)`, `FILTER_ENTRIES(?wide, ?v -> TRUE)`, `FILTER_ENTRIES(?many, ?v -> FALSE)`},
	"PICK":           {`PICK(?m3, ["a"])`, `PICK(?wide, KEYS(?wide))`, `PICK(?many, KEYS(?many2))`},
	"OMIT":           {`OMIT(?m3, ["a"])`, `OMIT(?wide, KEYS(?wide))`, `OMIT(?many, KEYS(?many2))`},

	"TYPE":    {`TYPE(?l3)`},
	"TEXT":    {`TEXT(?round)`, `TEXT(?f)`, `TEXT(?huge)`, `TEXT(?ints)`, `TEXT(?floats)`, `TEXT(?bytes)`, `TEXT(?many)`, `TEXT(?nulls)`, `TEXT(?nested)`, `TEXT(FROM_HEX("ff"), "x")`},
	"NUMBER":  {`NUMBER("12")`, `NUMBER("1.7976931348623157e308")`, `NUMBER("12.50")`, `NUMBER(?spaces)`, `NUMBER(?zeros)`, `NUMBER("0." + ?digits)`, `NUMBER("2.2250738585072011e-308")`},
	"DECIMAL": {`DECIMAL("12.30")`, `DECIMAL(?long38)`, `DECIMAL(?f)`, `DECIMAL(12)`, `DECIMAL(?spaces)`, `DECIMAL(REPEAT("0", 1000000))`, `DECIMAL("x", 1)`},
	"BOOLEAN": {`BOOLEAN("Yes")`, `BOOLEAN(1)`},
	"BYTES":   {`BYTES("a")`, `BYTES(?aM)`},

	"TO_JSON":       {`TO_JSON(1)`, `TO_JSON(?m3)`, `TO_JSON(?m3, 2)`, `TO_JSON(?ints, 8)`, `TO_JSON(?floats, 2)`, `TO_JSON(REPEAT(CHARACTER(1), 300000))`, `TO_JSON(?eM)`, `TO_JSON(?aM)`, `TO_JSON(?bytes)`, `TO_JSON(?many, 1)`, `TO_JSON(?deep, 8)`},
	"FROM_JSON":     {`FROM_JSON("1")`, `FROM_JSON("[1, 2.5]")`, `FROM_JSON('{"a":1,"b":"x"}')`, `FROM_JSON('""')`, `FROM_JSON("1.7976931348623157e308")`, `FROM_JSON(?json)`, `FROM_JSON(?jsonF)`, `FROM_JSON(?jsonD)`, `FROM_JSON(?jsonM)`, `FROM_JSON(?jsonE)`, `FROM_JSON(?jsonL)`, `FROM_JSON(?jsonN)`, `FROM_JSON(?jsonK)`, `FROM_JSON(?jsonT)`, `FROM_JSON(?jsonP)`, `FROM_JSON(?spaces + "1")`},
	"TO_CSV":        {`TO_CSV([[1]])`, `TO_CSV(?rows)`, `TO_CSV(?rowsL)`, `TO_CSV([?many])`, `TO_CSV([["a", ?mixM]])`, `TO_CSV([[REPEAT('"', 300000)]])`},
	"FROM_CSV":      {`FROM_CSV("a,b")`, `FROM_CSV(?csv)`, `FROM_CSV(?csvQ)`, `FROM_CSV(?csvW)`, `FROM_CSV("a" + ?lines)`},
	"TO_XML":        {`TO_XML({a: 1})`, `TO_XML(?xmlV)`, `TO_XML(?xmlV, 2)`, `TO_XML({a: ?aM})`, `TO_XML({a: REPEAT("<", 200000)})`, `TO_XML({a: {b: ?floats}})`, `TO_XML({a: {b: ?nulls}})`},
	"FROM_XML":      {`FROM_XML("<a/>")`, `FROM_XML('<a b="c">d</a>')`, `FROM_XML(?xmlE)`, `FROM_XML(?xmlA)`, `FROM_XML(?xmlN)`, `FROM_XML(?xmlM)`, `FROM_XML(?xmlR)`, `FROM_XML(?xmlC)`, `FROM_XML(?xmlP)`, `FROM_XML(?xmlD)`, `FROM_XML("<a>" + ?eM + "</a>")`, `FROM_XML("<a>" + ?spaces + "</a>")`},
	"TO_YAML":       {`TO_YAML(1)`, `TO_YAML(?m3)`, `TO_YAML(?ints)`, `TO_YAML(?floats)`, `TO_YAML(?nulls)`, `TO_YAML(?rows)`, `TO_YAML(?aM)`, `TO_YAML(?eM)`, `TO_YAML(?lines)`, `TO_YAML("a" + ?lines)`, `TO_YAML(REPEAT(CHARACTER(1), 100000))`, `TO_YAML(?bytes)`, `TO_YAML(?many)`, `TO_YAML(?deep)`},
	"FROM_YAML":     {`FROM_YAML("1")`, `FROM_YAML("a: 1")`, `FROM_YAML(?yamlL)`, `FROM_YAML(?yamlF)`, `FROM_YAML(?yamlN)`, `FROM_YAML(?yamlP)`, `FROM_YAML(?yamlM)`, `FROM_YAML(?yamlC)`, `FROM_YAML(?yamlB)`, `FROM_YAML(?yamlQ)`, `FROM_YAML(?yamlD)`, `FROM_YAML(?yamlX)`, `FROM_YAML(?yamlW)`, `FROM_YAML(?aM)`, `FROM_YAML(?spaces + "1")`},
	"TO_ZIP":        {`TO_ZIP({"a": "b"})`, `TO_ZIP({"a": ?mixM})`, `TO_ZIP({"a": ?aM})`, `TO_ZIP({"a": ?noise})`, `TO_ZIP(FROM_ZIP(?zipF))`, `TO_ZIP(FROM_ZIP(?zipD))`},
	"FROM_ZIP":      {`FROM_ZIP(?zip)`, `FROM_ZIP(?zipF)`, `FROM_ZIP(?zipD)`},
	"ZIP_LIST":      {`ZIP_LIST(?zip)`, `ZIP_LIST(?zipF)`, `ZIP_LIST(?zip + BYTES(?aM) + ?zip)`},
	"ZIP_READ":      {`ZIP_READ(?zip, "a")`, `ZIP_READ(?zip, "b")`, `ZIP_READ(?zipF, "file 7")`},
	"GZIP":          {`GZIP("a")`, `GZIP(?aM)`, `GZIP(?mixM)`, `GZIP(?eM)`, `GZIP(?noise)`, `GZIP(?digits)`},
	"GUNZIP":        {`GUNZIP(GZIP("a"))`, `GUNZIP(?gzip)`, `GUNZIP(?gzipA)`, `GUNZIP(?gzipM)`},
	"TO_BASE64":     {`TO_BASE64("a")`, `TO_BASE64(?aM)`},
	"BASE64":        {`BASE64("a")`, `BASE64(?aM)`},
	"TO_BASE64_URL": {`TO_BASE64_URL("a")`, `TO_BASE64_URL(?aM)`},
	"BASE64_URL":    {`BASE64_URL("a")`, `BASE64_URL(?aM)`},
	"FROM_BASE64":   {`FROM_BASE64("aGVsbG8=")`, `FROM_BASE64(?b64)`, `FROM_BASE64(?spaces)`, `FROM_BASE64("aaaa" + REPEAT("=", 900000))`},
	"TO_HEX":        {`TO_HEX("a")`, `TO_HEX(?aM)`},
	"HEX":           {`HEX("a")`, `HEX(?aM)`},
	"FROM_HEX":      {`FROM_HEX("6865")`, `FROM_HEX(?hex)`},
	"TO_HTML":       {`TO_HTML("a < b")`, `TO_HTML(?aM)`, `TO_HTML(REPEAT("<", 400000))`},
	"HTML_ESCAPE":   {`HTML_ESCAPE("a < b")`, `HTML_ESCAPE(?aM)`, `HTML_ESCAPE(REPEAT("<", 400000))`},
	"TO_URL":        {`TO_URL("a b")`, `TO_URL(?aM)`, `TO_URL(?eM)`},
	"URL_ENCODE":    {`URL_ENCODE("a b")`, `URL_ENCODE(?aM)`, `URL_ENCODE(?eM)`},
	"FROM_URL":      {`FROM_URL("a%20b")`, `FROM_URL(?aM)`, `FROM_URL(?percent)`},
	"URL_DECODE":    {`URL_DECODE("a%20b")`, `URL_DECODE(?aM)`, `URL_DECODE(?percent)`},
	"TO_QUERY":      {`TO_QUERY(?m3)`, `TO_QUERY(?wide)`, `TO_QUERY(?many)`, `TO_QUERY({a: ?floats})`, `TO_QUERY({a: ?eM})`},
	"QUERY_STRING":  {`QUERY_STRING(?m3)`, `QUERY_STRING(?wide)`, `QUERY_STRING(?many)`, `QUERY_STRING({a: ?floats})`, `QUERY_STRING({a: ?eM})`},
	"FROM_QUERY":    {`FROM_QUERY("a=b")`, `FROM_QUERY(?query)`, `FROM_QUERY(?queryS)`, `FROM_QUERY(?amps)`, `FROM_QUERY("a=" + ?percent)`},
	"PARSE_QUERY":   {`PARSE_QUERY("a=b")`, `PARSE_QUERY(?query)`, `PARSE_QUERY(?queryS)`, `PARSE_QUERY(?amps)`, `PARSE_QUERY("a=" + ?percent)`},
	"PARSE_URL":     {`PARSE_URL("https://example.com/a?x=1")`, `PARSE_URL(?url)`, `PARSE_URL("/" + ?percent)`},

	"SHA256": {`SHA256("a")`, `SHA256(?aM)`}, "SHA512": {`SHA512("a")`, `SHA512(?aM)`},
	"HMAC_SHA256": {`HMAC_SHA256("a", "k")`, `HMAC_SHA256(?aM, ?aM)`},
	"SAME":        {`SAME("abc", "abd")`, `SAME(?copies[0], ?copies[1])`},

	"PARSE_TIME":  {`PARSE_TIME("2026-06-01 08:30")`, `PARSE_TIME("1.6.2026 10:30", "D.M.YYYY HH:mm", "Europe/Berlin")`, `PARSE_TIME("Mon, 01 Jun 2026 08:30:00 GMT")`, `PARSE_TIME("2026 1 June", "2006 2 January")`, `PARSE_TIME(1780302600)`, `PARSE_TIME(REPEAT("x", 65) + "2026", REPEAT("[x]", 65) + "YYYY")`},
	"FORMAT_TIME": {`FORMAT_TIME(?time, "dddd, D MMMM YYYY, HH:mm", "+02:00")`, `FORMAT_TIME(?time, "YYYY", "Asia/Kathmandu")`, `FORMAT_TIME(?time, REPEAT("MMMM ", 40))`, `FORMAT_TIME(?time, REPEAT("2006 January ", 15))`, `FORMAT_TIME(?time, REPEAT("Z ", 99), "America/Argentina/Buenos_Aires")`},
	"ADD_TIME":    {`ADD_TIME(?time, 1, "month")`, `ADD_TIME(?time, 1, "day")`, `ADD_TIME("2026-01-31", 90000, "months")`, `ADD_TIME(?time, 1, "day", "Europe/Berlin")`, `ADD_TIME(?time, 90000, "months", "America/New_York")`},
	"DIFFERENCE":  {`DIFFERENCE("2026-06-03", ?time, "days")`, `DIFFERENCE("9026-06-03", ?time, "months")`, `DIFFERENCE("2026-10-25", ?time, "days", "Europe/Berlin")`, `DIFFERENCE("9026-06-03", ?time, "months", "America/New_York")`},
	"START_OF":    {`START_OF(?time, "month")`, `START_OF(?time, "week", "Europe/Berlin")`},
	"YEAR":        {`YEAR(?time)`, `YEAR(?time, "Europe/Berlin")`}, "MONTH": {`MONTH(?time)`}, "DAY": {`DAY(?time)`}, "WEEKDAY": {`WEEKDAY(?time)`},
	"HOUR": {`HOUR(?time, "Pacific/Auckland")`}, "MINUTE": {`MINUTE(?time)`}, "SECOND": {`SECOND("2026-06-01T08:30:00.123456789Z")`},
	"TO_UNIX": {`TO_UNIX(?time)`, `TO_UNIX("Mon, 01 Jun 2026 08:30:00 GMT")`}, "FROM_UNIX": {`FROM_UNIX(1780302600)`},

	"UUID": {`UUID()`}, "TOKEN": {`TOKEN()`, `TOKEN(64)`}, "RANDOM": {`RANDOM()`, `RANDOM(1, 6)`},
	"PASSWORD_HASH": {`PASSWORD_HASH("x")`}, "PASSWORD_MATCHES": {`PASSWORD_MATCHES("x", "junk") DEFAULT 1`},
}

// errorCalls are calls that fail, which costs too.
var errorCalls = []string{
	`FROM_XML("x")`, `GUNZIP(?gzipB)`, `GUNZIP(?gzipT)`, `ZIP_LIST(?bytes)`, `ZIP_READ(?zip, ?bytes)`, `FROM_XML("<a" + ?spaces)`, `FROM_XML("<" + ?aM)`, `FROM_XML(REPEAT("<a>", 300))`, `FROM_YAML("a: b: c")`, `FROM_YAML(REPEAT("[", 20000))`, `FROM_YAML(?lines + "{}x")`,
	`TO_HEX(?ints)`, `FROM_URL("%")`, `FROM_JSON(?jsonX, 1)`, `PARSE_TIME("x", NULL, NULL, 1)`, `FROM_CSV('"' + ?aM, NULL, 1)`, `MAP_VALUES(?ints, ?v -> 1)`, `FIND(?ints, "x")`,
	`NUMBER(?aM)`, `NUMBER("x")`, `FROM_JSON(?aM)`, `FROM_JSON("x")`, `FROM_JSON("[1" + ?spaces)`, `FROM_JSON(?jsonX)`, `FROM_CSV('"' + ?aM)`, `FROM_CSV("a" + CHARACTER(10) + ?commas)`,
	`PARSE_TIME(?aM)`, `PARSE_TIME("x")`, `PARSE_TIME("x", "YYYY", "Mars/Olympus")`, `YEAR(?time, "Mars/Olympus{?round}")`, `YEAR(?time, ?aM)`, `YEAR(?time, "Europe/Berln")`, `FORMAT_TIME(?time, "QQ")`,
	`MATCHES("x", "({?round}")`, `MATCHES("x", REPEAT("(", 1000))`, `MATCHES("x", '(?i)' + REPEAT('[а-я]', 20))`, `MATCHES("x", REPEAT("(a)", 200))`,
	`UPPER(?ints)`, `SUM(?texts)`, `FROM_BASE64(?eM)`, `FROM_HEX(?eM)`, `URL_DECODE(REPEAT("%41", 300000) + "%")`, `URL_DECODE(REPEAT("%FF", 300000))`, `PARSE_URL("http://[" + ?aM)`,
	`TO_CSV([1])`, `FORMAT_NUMBER(1, 2, ?aM)`, `CHARACTER(-1)`, `ROUND("x")`, `QUERY_STRING({a: ?m3})`, `BOOLEAN(?aM)`, `JOIN([FROM_HEX("ff")])`, `TEXT(FROM_HEX("ff" + HEX(?aM)))`, `FROM_ENTRIES(?nested)`, `COLUMN(?ints, "a")`,
	`REPLACE_PATTERN("x", "x", "$7")`, `ADD_TIME(?time, 1, ?aM)`, `SPLIT(?ints, 1)`,
}

// functionRows are the functions of the library.
func functionRows() []row {
	var rows []row
	for name, calls := range functionCalls {
		for _, call := range calls {
			rows = append(rows, row{name: fmt.Sprintf("%s: %s", name, call), setup: functionSetup, body: "SET ?y AS " + call})
		}
	}
	for _, call := range errorCalls {
		rows = append(rows, row{name: "error of " + call, setup: functionSetup, body: "TRY SET ?y AS " + call + " CATCH ?err END"})
	}
	for i := range rows {
		if rows[i].name == `PASSWORD_MATCHES: PASSWORD_MATCHES("x", "junk") DEFAULT 1` {
			rows[i].setup, rows[i].body = `SET ?hash AS PASSWORD_HASH("x")`, `SET ?y AS PASSWORD_MATCHES("x", ?hash)`
		}
	}
	return rows
}

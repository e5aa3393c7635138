package lib

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"ql/lang/value"
)

// costly makes, for each function, arguments of about n bytes that cost it the
// most; several where different ones may. Functions that are not here must be
// in cheap.
var costly = map[string]func(n int) [][]value.Value{
	"LENGTH":     texts(one("é"), one("a")),
	"UPPER":      texts(one("é"), one("a"), one("ß"), one("ΐ")),
	"LOWER":      texts(one("É"), one("a"), one("Σ"), one("Σ'")),
	"CAPITALIZE": texts(one("a")),
	"TRIM":       texts(one(" "), one("\u2003"), two(" ", " "), both("é")),
	"TRIM_START": texts(one(" "), both("é")),
	"TRIM_END":   texts(one(" "), both("é")),
	"SPLIT":      texts(one("a", ""), one("é", ""), one("a", "b"), one(",", ","), one("aaaaaaaab", "aaaaaaaaa")),
	"LINES":      texts(one("\n"), one("a"), one("\r\n")),
	"WORDS":      texts(one("a "), one("\u2003é")),
	"JOIN": func(n int) [][]value.Value {
		return [][]value.Value{
			{listOf(n/16, value.Text("x")), value.Text(",")},
			{listOf(n/16, value.Int(-1<<62)), value.Text("")},
			{listOf(2, value.Text(filled("x", n/2))), value.Text("")},
			{listOf(n/16, value.ListOf(value.Null)), value.Text("")},
		}
	},
	"REPLACE":     texts(one("a", "a", "b"), one("a", "b", "c"), one("ab", "ba", ""), one("aaab", "aaaa", "")),
	"CONTAINS":    texts(one("a", "b"), one("aaaaaaab", "aaaaaaaa"), halves("a")),
	"LIKE":        texts(one("a", "%b"), one("a", "%aaaaaaaaaaaaaaab"), one("é", "%_b"), one("a", "%a%a%a%b"), both("a"), both("_"), both("%")),
	"STARTS_WITH": texts(both("a")),
	"ENDS_WITH":   texts(both("a")),
	"POSITION":    texts(one("é", "a"), halves("é")),
	"SUBSTRING":   texts(counted("é", -1), countedHalf("é")),
	"LEFT":        texts(counted("é", 1<<40), countedHalf("é")),
	"RIGHT":       texts(counted("é", 1), countedHalf("é")),
	"SHORTEN":     texts(countedHalf("é"), countedAll(" ")),
	"PAD_LEFT":    texts(padded("é"), padded("ab")),
	"PAD_RIGHT":   texts(padded("é"), padded("ab")),
	"REPEAT":      texts(repeated("é"), repeated("ab")),
	"FILL": func(n int) [][]value.Value {
		values := value.NewMap(nil, 0)
		values.SetText("a", value.Text("é"))
		values.SetText("b", value.Text(""))
		return [][]value.Value{
			{value.Text(filled("{a}", n)), values.Value()},
			{value.Text(filled("{", n)), values.Value()},
			{value.Text(filled("{b}", n)), values.Value()},
		}
	},
	"SLUG": texts(one("é"), one("a-"), one("Ж "), one("-")),

	"MATCHES":  patterns("a", `[a-c]x`, `(x+x+)+y`, `(?:a?){20}b`, "b"),
	"FIND":     patterns("a", `[a-c]x`, `(a+a+)+y`, `(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)b`, "b"),
	"FIND_ALL": patterns("a", `a`, `[a-c]`, ``, `(a)`, "b", `\Bx`),
	"REPLACE_PATTERN": func(n int) [][]value.Value {
		return withLast(patterns("a", `a`, `[a-c]`, ``, `(a)`, "b")(n), value.Text("x$0"))
	},
	"SPLIT_PATTERN":  patterns("a", `a`, `[a-c]`, ``, `(a)`, "b"),
	"ESCAPE_PATTERN": texts(one("("), one("a")),

	"MIN":     numberLists,
	"MAX":     func(n int) [][]value.Value { return append(numberLists(n), equalTexts(n)) },
	"SUM":     numberLists,
	"PRODUCT": numberLists,
	"AVERAGE": numberLists,
	"MEDIAN":  numberLists,

	"SLICE":     withNumber(0),
	"INDEX_OF":  func(n int) [][]value.Value { return withLast(lists(n), value.Text("absent")) },
	"INSERT_AT": func(n int) [][]value.Value { return withLast(withNumber(0)(n), value.Text("x")) },
	"REMOVE_AT": withNumber(0),
	"SORT":      func(n int) [][]value.Value { return append(lists(n), equalTexts(n)) },
	"SORT_BY":   func(n int) [][]value.Value { return twice(lists(n)) },
	"REVERSE":   lists,
	"UNIQUE":    func(n int) [][]value.Value { return append(lists(n), equalTexts(n)) },
	"MIN_BY":    func(n int) [][]value.Value { return twice(lists(n)) },
	"MAX_BY":    func(n int) [][]value.Value { return twice(lists(n)) },
	"INDEX_BY":  func(n int) [][]value.Value { return twice(lists(n)) },
	"FLAT_MAP": func(n int) [][]value.Value {
		return [][]value.Value{{listOf(4, value.Null), listOf(4, listOf(n/32, value.Text("x")))}, {listOf(n/16, value.Null), listOf(n/16, value.Null)}}
	},
	"GROUP_BY": func(n int) [][]value.Value { return twice(lists(n)) },
	"ANY":      func(n int) [][]value.Value { return [][]value.Value{{listOf(n/16, value.False)}} },
	"ALL":      func(n int) [][]value.Value { return [][]value.Value{{listOf(n/16, value.True)}} },
	"RANGE":    func(n int) [][]value.Value { return [][]value.Value{{value.Int(1), value.Int(int64(n / 8))}} },
	"FLATTEN": func(n int) [][]value.Value {
		return append(lists(n), []value.Value{listOf(4, listOf(n/32, value.Text("x")))})
	},
	"CHUNK":     withNumber(1),
	"ZIP":       func(n int) [][]value.Value { return twice(lists(n)) },
	"INTERSECT": func(n int) [][]value.Value { return twice(append(lists(n), equalTexts(n))) },
	"EXCEPT":    func(n int) [][]value.Value { return twice(append(lists(n), equalTexts(n))) },
	"COLUMN": func(n int) [][]value.Value {
		return [][]value.Value{{listOf(n/64, table(1)), value.Text("key 0")}}
	},

	"KEYS":    tables,
	"VALUES":  tables,
	"ENTRIES": tables,
	"FROM_ENTRIES": func(n int) [][]value.Value {
		l := value.NewList(nil, 0)
		for i := range n / 64 {
			l.Append(nil, value.ListOf(value.Text(fmt.Sprint("key ", i)), value.Null))
		}
		return [][]value.Value{{l.Value()}}
	},
	"HAS":   func(n int) [][]value.Value { return [][]value.Value{{table(20), value.Text(filled("a", n))}} },
	"MERGE": func(n int) [][]value.Value { return twice(tables(n)) },
	"MERGE_DEEP": func(n int) [][]value.Value {
		deep := value.NewMap(nil, 0)
		deep.SetText("a", table(n/64))
		return append(twice(tables(n)), []value.Value{deep.Value(), deep.Value().Share()})
	},
	"MAP_VALUES": func(n int) [][]value.Value {
		return [][]value.Value{{table(n / 64), listOf(n/64, value.Text("x"))}}
	},
	"FILTER_ENTRIES": func(n int) [][]value.Value {
		return [][]value.Value{{table(n / 64), listOf(n/64, value.True)}}
	},
	"PICK": func(n int) [][]value.Value {
		return [][]value.Value{{table(n / 64), listOf(n/64, value.Text("key 0"))}}
	},
	"OMIT": func(n int) [][]value.Value {
		return [][]value.Value{{table(n / 64), listOf(n/64, value.Text("key 0"))}}
	},

	"TEXT": func(n int) [][]value.Value {
		return append(lists(n), []value.Value{value.Bytes([]byte(filled("é", n)))}, tables(n)[0])
	},
	"NUMBER":  texts(one("1"), one(" "), one("0.0"), one("a")),
	"DECIMAL": texts(one("1"), one(" "), one("0"), one("a")),
	"BYTES":   texts(one("é")),

	"TO_JSON": func(n int) [][]value.Value {
		return append(append(withNumber(0)(n), withNumber(8)(n)...), []value.Value{value.Text(filled("\x01", n))}, []value.Value{value.Text(filled("é", n))})
	},
	"FROM_JSON": func(n int) [][]value.Value {
		return [][]value.Value{
			{value.Text("[" + filled("[],", n) + "1]")},
			{value.Text("[" + filled("12,", n) + "1]")},
			{value.Text("[" + filled("1.7e308,", n) + "1]")},
			{value.Text(`"` + filled(`\u00e9`, n) + `"`)},
			{value.Text("[" + filled(`{"a":1},`, n) + "1]")},
			{value.Text(filled(" ", n))},
		}
	},
	"TO_CSV": func(n int) [][]value.Value {
		return [][]value.Value{
			{listOf(n/64, table(2))},
			{listOf(n/64, value.ListOf(value.Text(`"`), value.Int(1)))},
			{value.ListOf(value.ListOf(value.Text(filled(`"`, n))))},
		}
	},
	"FROM_CSV": func(n int) [][]value.Value {
		return [][]value.Value{
			{value.Text("a,b\n" + filled("1,2\n", n))},
			{value.Text("a\n\"" + filled(`""`, n) + `"`)},
			{value.Text("a,b\n" + filled("\n", n))},
			{value.Text(filled("a", n))},
		}
	},
	"TO_XML": func(n int) [][]value.Value {
		return [][]value.Value{
			{xmlRoot(listOf(n/16, value.Text("")))},
			{xmlRoot(value.Text(filled("<", n)))},
			{xmlRoot(value.Text(filled("é", n)))},
			{xmlRoot(listOf(n/64, nested("@a", value.Text("x"))))},
		}
	},
	"FROM_XML": func(n int) [][]value.Value {
		return [][]value.Value{
			{value.Text("<a>" + filled("<b/>", n) + "</a>")},
			{value.Text("<a>" + filled(`<b c="d"/>`, n) + "</a>")},
			{value.Text("<a>" + filled("&lt;", n) + "</a>")},
			{value.Text("<a>" + filled("x<b/>", n) + "</a>")},
			{value.Text("<a>" + filled(`<b xmlns:c="d"/>`, n) + "</a>")},
			{value.Text("<a>" + filled("é", n) + "</a>")},
			{value.Text("<a>" + filled("<!---->", n) + "</a>")},
		}
	},
	"TO_YAML": func(n int) [][]value.Value {
		return [][]value.Value{
			{listOf(n/16, value.Null)},
			{listOf(n/64, table(1))},
			{value.Text(filled("\x01", n/8))},
			{value.Text(filled("a\n", n))},
			{value.Text(filled("a", n))},
			{value.Bytes([]byte(filled("a", n)))},
		}
	},
	"FROM_YAML": func(n int) [][]value.Value {
		return [][]value.Value{
			{value.Text(filled("- a\n", n))},
			{value.Text("[" + filled("1,", n) + "1]")},
			{value.Text("[" + filled("1.7e308,", n) + "1]")},
			{value.Text("- " + filled("a", n))},
			{value.Text("- |\n" + filled("  a\n", n))},
			{value.Text("[" + filled("?,", n) + "1]")},
			{value.Text(filled("#\n", n))},
			{value.Text(`"` + filled(`\x41`, n) + `"`)},
		}
	},
	"TO_ZIP": func(n int) [][]value.Value {
		return [][]value.Value{{nested("a", value.Text(filled("a", n)))}, {table(n / 64)}, {nested("a", value.Text(noise(n)))}}
	},
	"FROM_ZIP": archives,
	"ZIP_LIST": func(n int) [][]value.Value { return archives(n)[1:2] },
	"ZIP_READ": func(n int) [][]value.Value { return withLast(archives(n), value.Text("a")) },
	"GZIP":     texts(one("a"), one("abcdefgh é"), func(n int) []value.Value { return []value.Value{value.Text(noise(n))} }),
	"GUNZIP": func(n int) [][]value.Value {
		var all [][]value.Value
		for _, s := range []string{filled("a", n), noise(n)} {
			v, _ := call(newCall(), "GZIP", value.Text(s))
			all = append(all, []value.Value{v})
		}
		return append(all, []value.Value{value.Bytes([]byte(gzipHead + filled("\x00\x00\x00\xff\xff", n)))})
	},
	"TO_BASE64":     texts(one("a")),
	"BASE64":        texts(one("a")),
	"TO_BASE64_URL": texts(one("a")),
	"BASE64_URL":    texts(one("a")),
	"FROM_BASE64":   texts(one("aaaa"), one(" ")),
	"TO_HEX":        texts(one("a")),
	"HEX":           texts(one("a")),
	"FROM_HEX":      texts(one("aa")),
	"TO_HTML":       texts(one("a"), one("<")),
	"HTML_ESCAPE":   texts(one("a"), one("<")),
	"TO_URL":        texts(one("a"), one("é")),
	"URL_ENCODE":    texts(one("a"), one("é")),
	"FROM_URL":      texts(one("a"), one("%41")),
	"URL_DECODE":    texts(one("a"), one("%41")),
	"QUERY_STRING":  tables,
	"TO_QUERY":      tables,
	"FROM_QUERY":    texts(one("a=b&"), one("&"), one("%41")),
	"PARSE_QUERY":   texts(one("a=b&"), one("&"), one("%41")),
	"PARSE_URL":     texts(one("/a"), one("%41"), one("?a=b&")),

	"SHA256":      texts(one("a")),
	"SHA512":      texts(one("a")),
	"HMAC_SHA256": texts(one("a", "key"), both("a")),
	"SAME":        texts(both("a")),
}

// cheap lists the functions whose cost does not depend on how large their
// arguments are.
var cheap = strings.Fields(`
	FORMAT_NUMBER CHARACTER CODE_POINT
	ABS SIGN ROUND FLOOR CEIL TRUNCATE CLAMP DIVIDE POWER SQRT EXP LN LOG LOG2 LOG10 PI SIN COS TAN ASIN ACOS ATAN ATAN2 GCD LCM
	COUNT FIRST LAST TYPE BOOLEAN
	PARSE_TIME FORMAT_TIME ADD_TIME DIFFERENCE START_OF YEAR MONTH DAY WEEKDAY HOUR MINUTE SECOND TO_UNIX FROM_UNIX
`)

type textMaker func(n int) []value.Value

func texts(makers ...textMaker) func(n int) [][]value.Value {
	return func(n int) [][]value.Value {
		var all [][]value.Value
		for _, m := range makers {
			all = append(all, m(n))
		}
		return all
	}
}

// filled repeats s up to n bytes.
func filled(s string, n int) string { return strings.Repeat(s, max(1, n/len(s))) }

func one(s string, more ...string) textMaker {
	return func(n int) []value.Value {
		args := []value.Value{value.Text(filled(s, n))}
		for _, m := range more {
			args = append(args, value.Text(m))
		}
		return args
	}
}

func two(a, b string) textMaker {
	return func(n int) []value.Value { return []value.Value{value.Text(filled(a, n)), value.Text(b)} }
}

func both(s string) textMaker {
	return func(n int) []value.Value {
		return []value.Value{value.Text(filled(s, n)), value.Text(filled(s, n))}
	}
}

// halves looks for something half as long that differs at its end.
func halves(s string) textMaker {
	return func(n int) []value.Value {
		return []value.Value{value.Text(filled(s, n)), value.Text(filled(s, n/2) + "b")}
	}
}

func counted(s string, k int64) textMaker {
	return func(n int) []value.Value { return []value.Value{value.Text(filled(s, n)), value.Int(k)} }
}

func countedHalf(s string) textMaker {
	return func(n int) []value.Value { return []value.Value{value.Text(filled(s, n)), value.Int(int64(n / 4))} }
}

func countedAll(s string) textMaker {
	return func(n int) []value.Value {
		return []value.Value{value.Text(filled(s, n)), value.Int(int64(n/len(s) - 1))}
	}
}

func padded(s string) textMaker {
	return func(n int) []value.Value {
		return []value.Value{value.Text("x"), value.Int(int64(n / 2)), value.Text(s)}
	}
}

func repeated(s string) textMaker {
	return func(n int) []value.Value { return []value.Value{value.Text(s), value.Int(int64(n / 2))} }
}

// patterns makes shorter texts: a byte costs these functions much.
func patterns(s string, ps ...string) func(n int) [][]value.Value {
	return func(n int) [][]value.Value {
		n /= 2
		var all [][]value.Value
		for _, p := range ps {
			all = append(all, []value.Value{value.Text(filled(s, n)), value.Text(p)})
		}
		return all
	}
}

func listOf(n int, v value.Value) value.Value {
	l := value.NewList(nil, 0)
	for range n {
		l.Append(nil, v.Share())
	}
	return l.Value()
}

// equalTexts is a list of texts that are equal but not the same.
func equalTexts(n int) []value.Value {
	l := value.NewList(nil, 0)
	for range 16 {
		l.Append(nil, value.Text(filled("a", n/16)))
	}
	return []value.Value{l.Value()}
}

func table(n int) value.Value {
	t := value.NewMap(nil, 0)
	for i := range n {
		t.SetText(fmt.Sprint("key ", i), value.Text("x"))
	}
	return t.Value()
}

// noise is a text that does not get much shorter.
func noise(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x>>8&0x3f) + 0x30
	}
	return string(b)
}

// archives are of one large file, of many small ones, and of one that is hard to pack.
func archives(n int) [][]value.Value {
	var all [][]value.Value
	for _, files := range []value.Value{nested("a", value.Text(filled("a", n))), table(n / 64), nested("a", value.Text(noise(n)))} {
		v, _ := call(newCall(), "TO_ZIP", files)
		all = append(all, []value.Value{v})
	}
	return all
}

// nested is a map of one key.
func nested(key string, v value.Value) value.Value {
	t := value.NewMap(nil, 1)
	t.SetText(key, v)
	return t.Value()
}

// xmlRoot is a document with v inside its root.
func xmlRoot(v value.Value) value.Value { return nested("a", nested("b", v)) }

func tables(n int) [][]value.Value { return [][]value.Value{{table(n / 64)}} }

func numberLists(n int) [][]value.Value { return lists(n)[:2] }

// lists makes lists of numbers, of floats, of different texts and of lists.
func lists(n int) [][]value.Value {
	ints, floats, texts, nested := value.NewList(nil, 0), value.NewList(nil, 0), value.NewList(nil, 0), value.NewList(nil, 0)
	for i := range n / 16 {
		shuffled := int64(i) * 7919 % 65537
		ints.Append(nil, value.Int(shuffled))
		f, _ := value.Number(float64(shuffled) + 0.5)
		floats.Append(nil, f)
		texts.Append(nil, value.Text(fmt.Sprint(shuffled)))
		if i%4 == 0 {
			nested.Append(nil, value.ListOf(value.Int(0), value.Int(shuffled)))
		}
	}
	return [][]value.Value{{ints.Value()}, {floats.Value()}, {texts.Value()}, {nested.Value()}}
}

func withLast(all [][]value.Value, v value.Value) [][]value.Value {
	for i := range all {
		all[i] = append(all[i], v)
	}
	return all
}

func withNumber(k int64) func(n int) [][]value.Value {
	return func(n int) [][]value.Value { return withLast(lists(n), value.Int(k)) }
}

// twice gives each list twice.
func twice(all [][]value.Value) [][]value.Value {
	for i := range all {
		all[i] = append(all[i], all[i][0])
	}
	return all
}

// used runs b and returns the fuel that it charged.
func used(b *Builtin, args []value.Value) int64 {
	c := newCall()
	_, _ = b.Fn(c, args)
	return c.Meter.Used()
}

// TestFuelGrows checks that every function pays for what it is given: at least
// in proportion to its size.
func TestFuelGrows(t *testing.T) {
	isCheap := map[string]bool{}
	for _, name := range cheap {
		isCheap[name] = true
	}
	for i := range Len() {
		b := At(i)
		makers, ok := costly[b.Name]
		switch {
		case b.Fn == nil:
			continue
		case ok == isCheap[b.Name]:
			t.Errorf("%s must be in just one of costly and cheap", b.Name)
			continue
		case !ok:
			continue
		}
		const small, middle, large = 16 << 10, 64 << 10, 256 << 10
		args := [][][]value.Value{makers(small), makers(middle), makers(large)}
		for j := range args[0] {
			low, mid, high := used(b, args[0][j]), used(b, args[1][j]), used(b, args[2][j])
			// What is paid once, such as compiling a pattern, is no part of
			// the growth.
			first, second := mid-low, high-mid
			if second < first*(large-middle)/(middle-small)/2 {
				t.Errorf("%s, arguments %d: %d units for %d bytes, %d for %d, but %d for %d", b.Name, j, low, small, mid, middle, high, large)
			}
			if second < (large-middle)/100 {
				t.Errorf("%s, arguments %d: only %d units for %d bytes", b.Name, j, high, large)
			}
		}
	}
}

// TestAllocationsAreCharged checks that no function allocates much more than it
// charges. Under the race detector pools drop what they are given, so what is allocated there is
// not what a server allocates.
func TestAllocationsAreCharged(t *testing.T) {
	if underRace {
		return
	}
	for i := range Len() {
		b := At(i)
		makers, ok := costly[b.Name]
		if b.Fn == nil || !ok {
			continue
		}
		for _, args := range makers(16) { // tables that are made once
			_, _ = b.Fn(newCall(), args)
		}
		for j, args := range makers(64 << 10) {
			c := newCall()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = b.Fn(c, args)
			runtime.ReadMemStats(&after)
			charged := c.Meter.Memory - c.Meter.BytesLeft
			const aside = 32 << 10 // what a call takes whatever its arguments are, a pattern most of all
			if made := int64(after.TotalAlloc - before.TotalAlloc); made > charged*3/2+aside {
				t.Errorf("%s, arguments %d: allocated %d bytes, charged %d", b.Name, j, made, charged)
			}
		}
	}
}

// BenchmarkFuel shows what a unit of fuel buys: about 10 ns, whatever is done
// with it.
func BenchmarkFuel(b *testing.B) {
	for i := range Len() {
		f := At(i)
		makers, ok := costly[f.Name]
		if f.Fn == nil || !ok {
			continue
		}
		for j, args := range makers(256 << 10) {
			b.Run(fmt.Sprintf("%s/%d", f.Name, j), func(b *testing.B) {
				fuel := used(f, args)
				c := newCall()
				for b.Loop() {
					c.Meter.Reserve, c.Meter.BytesLeft = 1<<40, 1<<40
					_, _ = f.Fn(c, args)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(fuel, 1)), "ns/fuel")
			})
		}
	}
}

package lang_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ql/lang"
	"ql/lang/langtest"
	"ql/lang/vm"
)

// chapter is a piece of a script as people write them; # is its number.
const chapter = `
-- orders of one customer, with a summary
DEFINE summary_#(?customer, ?limit DEFAULT 50)
  SELECT id, total, state, created FROM orders
    WHERE customer = ?customer.id AND total > ?limit ORDER BY created DESC LIMIT 100 SET ?orders
  SET ?sum AS 0
  SET ?late AS []
  FOR ?i, ?o IN ?orders DO
    IF ?o.state = "cancelled" THEN
      CONTINUE
    ELSE IF ?o.state = "open" AND DIFFERENCE(NOW(), ?o.created, "days") > 14 THEN
      APPEND {id: ?o.id, days: DIFFERENCE(NOW(), ?o.created, "days"), place: ?i} TO ?late
    END
    SET ?sum AS ?sum + ?o.total * (1 - (?customer.discount DEFAULT 0) / 100)
  END
  TRY
    UPDATE customers SET volume = ?sum, seen = seen + 1 WHERE id = ?customer.id;
  CATCH ?e
    IF ?e.code != "busy" THEN FAIL ?e END
    APPEND LINE "{?customer.name}: {?e.message}" TO FILE "/logs/busy-#.txt"
  END
  RETURN {
    name: UPPER(TRIM(?customer.name)),
    sum: ROUND(?sum, 2),
    late: SORT_BY(?late, ?l -> -?l.days),
    best: FIRST(SORT_BY(FILTER(?orders, ?o -> ?o.total > 100), ?o -> -?o.total))
  }
END
SET ?s# AS summary_#({id: #, name: !GET('name') DEFAULT "nobody", discount: 2.5})
EMIT HTML """
  <h2>{?s#.name}</h2>
  <p class="sum">{?s#.sum} in total, {=COUNT(?s#.late)} late</p>
  """
`

// longScript is about n bytes of chapters.
func longScript(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.ReplaceAll(chapter, "#", fmt.Sprint(i)))
	}
	return b.String()
}

func BenchmarkCompile(b *testing.B) {
	script := longScript(100_000)
	b.SetBytes(int64(len(script)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := lang.Compile(script, lang.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCachedTrivial is what running the smallest scripts costs once they
// are compiled.
func BenchmarkCachedTrivial(b *testing.B) {
	for name, script := range map[string]string{"emit": `EMIT "hello"`, "set": `SET ?x AS 1 + 2`} {
		b.Run(name, func(b *testing.B) {
			c := lang.NewCache(1 << 20)
			p, err := c.Compile(script, lang.Options{})
			if err != nil {
				b.Fatal(err)
			}
			limits := langtest.Limits()
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				m := vm.New(p, limits, vm.Input{})
				if m.Run(ctx) != vm.Done {
					b.Fatal(m.Err())
				}
				m.Release()
			}
		})
	}
}

// BenchmarkCacheHit is what finding a compiled script costs, by its text.
func BenchmarkCacheHit(b *testing.B) {
	c := lang.NewCache(1 << 20)
	const script = `EMIT "Hello, " + (!GET('name') DEFAULT "stranger") + "!"`
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Compile(script, lang.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

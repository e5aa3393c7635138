package syntax_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ql/lang/source"
	"ql/lang/syntax"
)

// Any JSON document without an insertion in its texts is an expression with
// that value.
func TestJSONDocuments(t *testing.T) {
	documents := []string{
		`{}`, `[]`, `""`, `null`, `true`, `false`, `0`, `-0`, `-1.5e+3`, `1E2`, `12345678901234567890`, `1e-400`,
		`{"a":{"":[{"b":[]}]},"null":null,"END":1}`,
		`"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`,
		`"{ } {} {a} {\u003fx} ? !"`,
		"[\n\t1 ,\r\n 2\n]",
		`{"select":{"set":["if","{","}"]}}`,
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		v := randomJSON(rng, 5)
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if rng.IntN(2) == 0 {
			var b bytes.Buffer
			if err := json.Indent(&b, text, "", "  "); err != nil {
				t.Fatal(err)
			}
			text = b.Bytes()
		}
		documents = append(documents, string(text))
	}
	for _, doc := range documents {
		if strings.Contains(doc, "{?") || strings.Contains(doc, "{!") || strings.Contains(doc, "{=") {
			continue
		}
		x, errs := syntax.ParseExpr(source.NewFile("", doc))
		if len(errs) > 0 {
			t.Fatalf("%s\nin %s", errs[0].Caret(""), doc)
		}
		var want any
		if err := json.Unmarshal([]byte(doc), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, constant(t, x)); diff != "" {
			t.Fatalf("%s\n%s", doc, diff)
		}
	}
}

// constant computes an expression that JSON could be.
func constant(t *testing.T, x syntax.Expr) any {
	switch x := x.(type) {
	case *syntax.Null:
		return nil
	case *syntax.Bool:
		return x.Value
	case *syntax.Number:
		if x.IsInt {
			return float64(x.Int)
		}
		return x.Float
	case *syntax.Unary:
		return 0 - constant(t, x.X).(float64)
	case *syntax.Text:
		if x.HasInsertion() {
			t.Fatal("an insertion in JSON")
		}
		return x.Plain()
	case *syntax.ListLit:
		list := []any{}
		for _, item := range x.Items {
			list = append(list, constant(t, item))
		}
		return list
	case *syntax.MapLit:
		m := map[string]any{}
		for _, e := range x.Entries {
			m[e.Key] = constant(t, e.Value)
		}
		return m
	}
	t.Fatalf("%T in JSON", x)
	return nil
}

func randomJSON(rng *rand.Rand, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rng.IntN(kinds) {
	case 0:
		return []any{nil, true, false}[rng.IntN(3)]
	case 1:
		return rng.IntN(2000) - 1000
	case 2:
		return rng.NormFloat64() * []float64{1e-30, 1, 1e30}[rng.IntN(3)]
	case 3:
		return randomText(rng)
	case 4:
		list := make([]any, rng.IntN(5))
		for i := range list {
			list[i] = randomJSON(rng, depth-1)
		}
		return list
	default:
		m := map[string]any{}
		for i := range rng.IntN(5) {
			m[fmt.Sprint(randomText(rng), i)] = randomJSON(rng, depth-1)
		}
		return m
	}
}

func randomText(rng *rand.Rand) string {
	const letters = "ab {}?!=\"'\\/\n\t\x01é漢😀-_0.[]:,"
	runes := []rune(letters)
	var b strings.Builder
	for range rng.IntN(8) {
		b.WriteRune(runes[rng.IntN(len(runes))])
	}
	return b.String()
}

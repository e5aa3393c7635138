package vm_test

import (
	"context"
	"slices"
	"testing"

	"ql/lang/langtest/gen"
	"ql/lang/vm"
)

// paths are scripts about the edges of what the machine does at once: each has what is common, and what is not.
var paths = []string{
	`SET ?b AS [{x: 1, y: 2.5}, {y: 3, x: "a"}, {z: 1}, null, 7, [1]]
	FOR ?i FROM -7 TO 7 DO
	  TRY
	    EMIT LINE ?i, ":", ?b[?i].x, ",", ?b[?i].y
	  CATCH ?e
	    EMIT LINE ?e.message
	  END
	END`,
	`SET ?b AS [{x: 1, y: 2.5}, {y: 3, x: "a"}, {z: 1}, null, 7, [1]]
	SET ?c AS ?b
	SET ?d AS ?b[0]
	FOR ?i FROM -7 TO 7 DO
	  FOR ?v IN [1, 2.5, "t", null, [1], {a: 1}] DO
	    TRY
	      SET ?b[?i].x AS ?v
	      SET ?b[?i].a_key_that_is_longer_than_thirty_two_bytes AS ?v
	    CATCH ?e
	      EMIT LINE ?e.message
	    END
	  END
	  EMIT LINE TO_JSON(?b)
	END
	EMIT LINE TO_JSON(?c), TO_JSON(?d)`,
	`SET ?r AS {}
	FOR ?i FROM 0 TO 300 DO
	  SET ?r["k{?i}"] AS ?i
	  SET ?r.k7 AS (?r.k7 DEFAULT 0) + 1
	  IF ?i % 50 = 49 THEN
	    UNSET ?r.k7
	    SET ?r.k7 AS 0
	    SET ?s AS ?r
	  END
	END
	EMIT ?r.k7, ?s.k7, ?r.k290, ?r.none`,
	`SET ?l AS [[1, 2], [3.5, "x"], []]
	FOR ?i FROM 0 TO 2 DO
	  FOR ?j FROM -1 TO 2 DO
	    EMIT LINE ?l[?i][?j] DEFAULT "none"
	    TRY
	      SET ?l[?i][?j] AS ?i / 2
	    CATCH ?e
	      EMIT LINE ?e.message
	    END
	  END
	END
	EMIT TO_JSON(?l)`,
}

// TestFusedOperations checks that the machine's own operations do what the instructions do that they stand for, to
// the last unit of fuel.
func TestFusedOperations(t *testing.T) {
	texts := slices.Clone(paths)
	for seed := range count(150, 2000) {
		texts = append(texts, gen.Program(seed, gen.Options{Pure: true, Statements: 30}))
	}
	fused := 0
	for i, text := range texts {
		plain := compile(t, text)
		fused += vm.Unfuse(plain)
		first := i % 40
		want := vm.New(plain, generous(first), vm.Input{})
		got := vm.New(compile(t, text), generous(first), vm.Input{})
		want.Run(context.Background())
		got.Run(context.Background())
		if string(got.Output()) != string(want.Output()) || !slices.Equal(got.Inspect(), want.Inspect()) {
			t.Fatalf("%s\n%q\n%q\n%v\n%v", numbered(text), got.Output(), want.Output(), got.Inspect(), want.Inspect())
		}
		if i < len(paths) && want.Err() != nil {
			t.Errorf("script %d: %v", i, want.Err())
		}
		want.Release()
		got.Release()
	}
	if fused < 10 {
		t.Errorf("%d operations were fused: too few to tell anything", fused)
	}
}

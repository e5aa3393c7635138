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
	`SET ?values AS [1, 2.5, 0.5, "t", null, [1], DECIMAL("1.5"), 9_223_372_036_854_775_807, -4e200, 1e308]
	FOR ?one IN ?values DO
	  FOR ?other IN ?values DO
	    SET ?b AS [{n: ?one, a_key_that_is_longer_than_thirty_two_bytes: 1}, {o: 1, n: ?other}]
	    SET ?kept AS ?b
	    FOR ?i FROM -1 TO 2 DO
	      FOR ?way FROM 1 TO 11 DO
	        SET ?d AS 0
	        TRY
	          IF ?way = 1 THEN SET ?d AS ?b[?i].n - ?b[1].n END
	          IF ?way = 2 THEN SET ?d AS ?b[?i].n + ?b[?i].n END
	          IF ?way = 3 THEN SET ?d AS ?b[?i].n * ?other END
	          IF ?way = 4 THEN SET ?d AS ?other - ?b[?i].n END
	          IF ?way = 5 THEN SET ?b[?i].n AS ?b[?i].n + ?other END
	          IF ?way = 6 THEN SET ?b[?i].n AS ?other - ?b[?i].n END
	          IF ?way = 7 THEN SET ?b[?i].n AS ?b[?i].n + ?other * ?one END
	          IF ?way = 8 THEN SET ?b[?i].n AS ?b[?i].n - ?other * 0.5 END
	          IF ?way = 9 THEN SET ?b[?i].n AS ?other * ?one - ?b[?i].n END
	          IF ?way = 10 THEN SET ?b[?i].n AS ?b[?i].n - 1 END
	          IF ?way = 11 THEN
	            SET ?b[?i].a_key_that_is_longer_than_thirty_two_bytes AS ?b[?i].a_key_that_is_longer_than_thirty_two_bytes + 1
	          END
	        CATCH ?e
	          EMIT LINE ?e.line, ":", ?e.column, " ", ?e.message
	        END
	        EMIT LINE ?way, ?d, TO_JSON(?b)
	      END
	    END
	    EMIT LINE TO_JSON(?kept)
	  END
	END`,
	`FOR ?v IN [1, 2.5, "t", null, [1], DECIMAL("1.5"), 9_223_372_036_854_775_807, -4e200] DO
	  FOR ?c IN [[1, 2], [1.5, 2.5], [?v, "x"], [], {a: ?v}, {}, null, "t", 7] DO
	    SET ?kept AS ?c
	    FOR ?k IN ["a", "b", "a_key_that_is_longer_than_thirty_two_bytes", 0, 1, 2, -1, 0.5, null] DO
	      TRY
	        SET ?c[?k] AS ?c[?k] + ?v
	        SET ?c[?k] AS ?v - ?c[?k]
	        SET ?c[?k] AS ?c[?k] * 3
	        SET ?c[?k] AS ?c[?k] - 1
	        SET ?c[?k] AS ?c[?k] + ?k
	      CATCH ?e
	        EMIT LINE ?e.line, ":", ?e.column, " ", ?e.message
	      END
	      TRY
	        SET ?c[?k] AS (?c[?k] DEFAULT 3) + 1
	        SET ?c[?k] AS (?c[?k] DEFAULT 3) - 1
	        SET ?c[?k] AS (?c[?k] DEFAULT 3) + ?v
	      CATCH ?e
	        EMIT LINE ?e.line, ":", ?e.column, " ", ?e.message
	      END
	      EMIT LINE TO_JSON(?c), TO_JSON(?kept)
	    END
	  END
	END`,
	`SET ?counts AS {}
	FOR ?i FROM 1 TO 3000 DO
	  SET ?k AS "k{=?i * ?i % 1009}"
	  SET ?counts[?k] AS (?counts[?k] DEFAULT 0) + 1
	  IF ?i % 700 = 0 THEN
	    SET ?kept AS ?counts
	    UNSET ?counts.k1
	  END
	END
	EMIT TO_JSON(?counts), TO_JSON(?kept)`,
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
	`DEFINE sum(?a, ?b)
	  RETURN ?a + ?b + 1
	END
	DEFINE down(?a, ?b)
	  RETURN (?a + ?b - 3) + (?b - ?a)
	END
	DEFINE both(?a, ?b)
	  IF COUNT([?a]) = 1 THEN SET ?a[0] AS 5 END
	  RETURN [?a, ?b]
	END
	SET ?values AS [0, -3, 0.5, 1e308, 9_223_372_036_854_775_807, 9_223_372_036_854_775_806, -9_223_372_036_854_775_807, "t", null, DECIMAL("1.5"), [1, 2]]
	FOR ?x IN ?values DO
	  FOR ?y IN ?values DO
	    FOR ?way FROM 1 TO 6 DO
	      TRY
	        IF ?way = 1 THEN EMIT LINE sum(?x, ?y) END
	        IF ?way = 2 THEN EMIT LINE down(?x, ?y) END
	        IF ?way = 3 THEN EMIT LINE TO_JSON(both(?x, ?y)), TO_JSON(?x) END
	        IF ?way = 4 THEN EMIT LINE TO_JSON(both([?x, ?y], ?y)) END
	        IF ?way = 5 THEN EMIT LINE ?x / ?y END
	        IF ?way = 6 THEN EMIT LINE ?x * ?y + 7 + ?x END
	      CATCH ?e
	        EMIT LINE ?e.line, ":", ?e.column, " ", ?e.message
	      END
	    END
	  END
	END`,
	`FOR ?c IN [[1, 2, 3], [1.5, 2.5, 3.5], [true, false, true], ["x", "y", "z"], [], {a: 1}, null, "t", 7] DO
	  SET ?kept AS ?c
	  FOR ?v IN [1, 2.5, false, "t", null, [1]] DO
	    FOR ?k IN [0, 2, 3, -1, "a", 0.5, null] DO
	      TRY
	        SET ?c[?k] AS ?v
	        SET ?c[?k] AS ?k
	      CATCH ?e
	        EMIT LINE ?e.line, ":", ?e.column, " ", ?e.message
	      END
	      TRY
	        SET ?c[1] AS ?v
	        EMIT LINE ?c[0], ?c[1], ?c[-1]
	        SET ?c[-1] AS ?c[0]
	      CATCH ?e
	        EMIT LINE ?e.line, ":", ?e.column, " ", ?e.message
	      END
	      EMIT LINE TO_JSON(?c), TO_JSON(?kept)
	    END
	  END
	END`,
	`FOR ?end IN [3, 2.5, 0, -1, 9_223_372_036_854_775_807, "3", null] DO
	  FOR ?from IN [0, 0.5, -2, 9_223_372_036_854_775_805, "0", null] DO
	    SET ?i AS ?from
	    SET ?rounds AS 0
	    TRY
	      WHILE ?i < ?end DO
	        SET ?rounds AS ?rounds + 1
	        IF ?rounds = 40 THEN SET ?end AS 0 END
	        SET ?i AS ?i + 1
	      END
	      WHILE ?end < ?i DO
	        SET ?rounds AS ?rounds + 1
	        IF ?rounds > 60 THEN SET ?i AS ?end END
	        SET ?i AS ?i - 1
	      END
	    CATCH ?e
	      EMIT LINE ?e.line, ":", ?e.column, " ", ?e.message
	    END
	    EMIT LINE ?i, " ", ?end, " ", ?rounds
	  END
	END`,
	`FOR ?x IN [2, 4, -1, 0, 2.25, 0.1, 1e300, 1e-300, -0.5, 9_007_199_254_740_993, "t", null, [1], DECIMAL("2")] DO
	  TRY
	    EMIT LINE SQRT(?x), " ", SQRT(SQRT(?x)), " ", ?x / 2, " ", ?x / 8, " ", ?x / 3, " ", -?x, " ", ?x / 1, " ", -?x / 4
	  CATCH ?e
	    EMIT LINE ?e.line, ":", ?e.column, " ", ?e.message
	  END
	END`,
	`SET ?numbers AS [0, -3, 4_000_000_000, 0.5, 0.1, -7.3, 3e200, 1e16, "t", DECIMAL("1.5")]
	FOR ?x IN ?numbers DO
	  FOR ?y IN ?numbers DO
	    FOR ?z IN ?numbers DO
	      SET ?all AS ""
	      FOR ?way FROM 1 TO 9 DO
	        SET ?d AS ?z
	        TRY
	          IF ?way = 1 THEN SET ?d AS ?z + ?x * ?y END
	          IF ?way = 2 THEN SET ?d AS ?x * ?y + ?z END
	          IF ?way = 3 THEN SET ?d AS ?z - ?x * ?y END
	          IF ?way = 4 THEN SET ?d AS ?x * ?y - ?z END
	          IF ?way = 5 THEN SET ?d AS ?x * ?y + ?z * ?x END
	          IF ?way = 6 THEN SET ?d AS ?x * ?y - ?z * ?x END
	          IF ?way = 7 THEN SET ?d AS ?d * ?y + ?d END
	          IF ?way = 8 THEN SET ?d AS ?d * ?d - ?d * ?x END
	          IF ?way = 9 THEN
	            SET ?p AS ?x * ?y
	            SET ?d AS ?z - ?p
	            SET ?q AS ?x * ?z
	            SET ?d AS ?p + ?q
	            SET ?all AS "{?all} {?p} {?q}"
	          END
	        CATCH ?e
	          SET ?d AS "{?e.line}:{?e.column} {?e.message}"
	        END
	        SET ?all AS "{?all} {?d}"
	      END
	      EMIT LINE ?all
	    END
	  END
	END`,
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

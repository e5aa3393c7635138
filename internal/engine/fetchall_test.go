package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// TestFetchAll: replies stand in the order of the list, whichever comes first, and one that failed
// loses none of the others.
func TestFetchAll(t *testing.T) {
	w := newWorld(t)
	held := atomic.Int64{}
	last := make(chan struct{})
	w.o.Network = networkFunc(func(_ context.Context, r Request) (Reply, error) {
		held.Add(1)
		reply := Reply{Status: 200, Body: []byte(spelled(r)), Release: func() { held.Add(-1) }}
		switch r.URL {
		case "https://a.example/first":
			<-last // after all others
		case "https://a.example/last":
			close(last)
		case "https://a.example/bad":
			return Reply{Release: reply.Release}, value.Errorf("fetch_failed", "nobody is there")
		}
		return reply, nil
	})
	got := w.result(w.start(`FETCH ALL ["https://a.example/first", "https://a.example/bad", {url: "https://a.example/b", method: "PUT", headers: {a: 1}, query: {q: 2}, body: "x"}, "https://a.example/last"] AT MOST 2 TIMEOUT 3 SECONDS SET ?r
FOR ?one IN ?r DO EMIT LINE ?one.body DEFAULT ?one END`))
	want := `GET https://a.example/first in 3s
{"error":{"code":"fetch_failed","message":"nobody is there"}}
PUT https://a.example/b?q=2 A=1 Content-Type=text/plain; charset=utf-8 in 3s x
GET https://a.example/last in 3s
`
	if got != want || held.Load() != 0 {
		t.Errorf("got %s\n%d replies are held", got, held.Load())
	}
}

func TestFetchAllRefuses(t *testing.T) {
	for script, want := range map[string]string{
		`FETCH ALL "https://a.example" SET ?r`:        "wrong_kind: FETCH ALL takes a list of addresses, not the text \"https://a.example\"",
		`FETCH ALL [1]`:                               "wrong_kind: member 0 of FETCH ALL is an address, or a map such as {url: \"https://…\"}, not the number 1",
		`FETCH ALL [{method: "GET"}]`:                 "bad_argument: member 0 of FETCH ALL has no url",
		`FETCH ALL ["https://a.example", {uri: "x"}]`: "bad_argument: member 1 of FETCH ALL has \"uri\", and takes url, method, headers, query, body",
		`FETCH ALL [] AT MOST 0`:                      "bad_argument: AT MOST takes how many calls are made at once, from 1 to 100, not the number 0",
		`FETCH ALL [] AT MOST "2"`:                    "bad_argument: AT MOST takes how many calls are made at once, from 1 to 100, not the text \"2\"",
		`FETCH ALL RANGE(1, 10001)`:                   "bad_argument: FETCH ALL makes at most 10000 calls, and the list has 10001 members: take it in parts",
	} {
		w := newWorld(t)
		n := &fakeNetwork{}
		w.o.Network = n
		if got := w.result(w.start(`TRY ` + script + ` CATCH ?e EMIT "{?e.code}: {?e.message}" END`)); got != want || len(n.calls) > 0 {
			t.Errorf("%s: got %s after %d calls", script, got, len(n.calls))
		}
	}
	w := newWorld(t)
	w.o.Network = &fakeNetwork{}
	if got := w.result(w.start(`FETCH ALL [] SET ?r EMIT ?r`)); got != "[]" {
		t.Errorf("none: %s", got)
	}
}

// TestFetchAllEnds: a call that ends the run ends the others, and none is left.
func TestFetchAllEnds(t *testing.T) {
	w := newWorld(t)
	var under atomic.Int64
	w.o.Network = networkFunc(func(ctx context.Context, r Request) (Reply, error) {
		under.Add(1)
		defer under.Add(-1)
		if r.Number == 5 {
			return Reply{}, &value.LimitError{Name: "fetches", Max: 4}
		}
		<-ctx.Done()
		return Reply{}, ctx.Err()
	})
	got := w.result(w.start(`TRY FETCH ALL MAP(RANGE(1, 50), ?i -> "https://a.example/{?i}") CATCH ?e EMIT "caught" END`))
	if got != "|failed: limit_exceeded" && under.Load() != 0 {
		t.Errorf("got %s, %d under way", got, under.Load())
	}
}

// TestFetchAllUnderJournal: another attempt makes the calls whose replies were not recorded, with the
// keys that they had, and a whole one makes none.
func TestFetchAllUnderJournal(t *testing.T) {
	const script = `FETCH ALL MAP(RANGE(1, 5), ?i -> "https://a.example/{?i}") SET ?r FETCH "https://b.example" EMIT MAP(?r, ?x -> ?x.status)`
	reply := func(n int) value.Value {
		m := value.NewMap(nil, 1)
		m.SetText("status", value.Int(int64(n)))
		return m.Value()
	}
	w := newWorld(t)
	n := &fakeNetwork{reply: Reply{Status: 200}}
	j := &fakeJournal{parts: map[[2]int64]Result{}}
	for _, i := range []int{0, 3} {
		j.parts[[2]int64{1, int64(i)}] = Result{Seq: 1, Kind: bytecode.EffectFetchAll, Value: reply(i), Fuel: 5}
	}
	w.o.Network, w.o.Journal = n, j
	if got := w.result(w.start(script)); got != "[0,200,200,3,200]" {
		t.Errorf("got %s", got)
	}
	called := map[string]string{}
	for _, c := range n.calls {
		called[c.URL] = fmt.Sprint(c.Number, c.Header[idempotencyKey])
	}
	if len(n.calls) != 4 || called["https://a.example/2"] != "2 [key-1-1]" || called["https://a.example/5"] != "5 [key-1-4]" || called["https://b.example"] != "6 [key-2]" {
		t.Errorf("called %v", called)
	}
	n.calls, j.results = nil, map[int64]Result{1: {Seq: 1, Kind: bytecode.EffectFetchAll, Value: value.Int(5)}}
	if got := w.result(w.start(script)); got != "[0,200,200,3,200]" || len(n.calls) != 1 || n.calls[0].Number != 6 {
		t.Errorf("replayed: %s after %v", got, n.calls)
	}
	j.results[1] = Result{Seq: 1, Kind: bytecode.EffectFetchAll, Value: value.Int(6)}
	r := w.start(script)
	if out, err := r.Continue(w.ctx); out.Status != Interrupted || !errors.Is(err, ErrDiverged) {
		t.Errorf("a part that is gone: %v, %v", out.Status, err)
	}
}

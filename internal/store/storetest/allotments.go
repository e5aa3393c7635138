package storetest

import (
	"slices"
	"sync"
	"testing"

	"ql/internal/admit"
)

// testAllotmentsOfTwo: of two processes that change an allotment at once, each builds on what the other has stored, and
// the shares of one that is dead are nobody's.
func testAllotmentsOfTwo(t *testing.T, a, b *process) {
	const account, limit = 5, 100
	var all sync.WaitGroup
	for _, p := range []*process{a, b} {
		self := p.member().Incarnation
		all.Go(func() {
			for done := 0; done < 20; {
				now, members, err := p.Allotments.Allotment(t.Context(), account)
				if err != nil || !slices.Contains(members, self) {
					t.Errorf("%+v among %v, %v", now, members, err)
					return
				}
				mine := now.Of(self)
				mine.Of[admit.SharedRunning] = now.Share(self, admit.SharedRunning, limit, admit.Demand{Used: done, More: 1})
				version, err := p.Allotments.SwapAllotment(t.Context(), account, now.Version, now.With(mine))
				switch {
				case err != nil:
					t.Error(err)
					return
				case version != 0:
					done++
				}
			}
		})
	}
	all.Wait()
	now, _, err := a.Allotments.Allotment(t.Context(), account)
	must(t, err)
	for _, p := range []*process{a, b} {
		same(t, "what each holds", now.Of(p.member().Incarnation).Of[admit.SharedRunning], admit.Share{Held: 20})
	}
	next, err := a.Allotments.SwapAllotment(t.Context(), account, now.Version+1, now)
	must(t, err)
	same(t, "a change of what is not there", next, int64(0))

	wanting := now.Of(b.member().Incarnation)
	wanting.Of[admit.SharedRunning].Wanted = 3
	now.Version, err = b.Allotments.SwapAllotment(t.Context(), account, now.Version, now.With(wanting))
	must(t, err)
	list, err := a.Allotments.Contended(t.Context(), 10)
	must(t, err)
	same(t, "of which somebody wants more", list, []int64{account})

	must(t, b.session.Leave(t.Context()))
	now, members, err := a.Allotments.Allotment(t.Context(), account)
	must(t, err)
	left := now.Among(members)
	same(t, "whose shares count when one has left", len(left.Nodes), 1)
	next, err = a.Allotments.SwapAllotment(t.Context(), account, now.Version, left.With(admit.NodeShares{Incarnation: a.member().Incarnation}))
	if err != nil || next == 0 {
		t.Errorf("what nobody holds is removed: %d, %v", next, err)
	}
	now, _, err = a.Allotments.Allotment(t.Context(), account)
	must(t, err)
	same(t, "what is there then", now.Version, int64(0))
}

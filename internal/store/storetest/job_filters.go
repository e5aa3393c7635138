package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/internal/job"
)

// testJobFilters: every filter chooses the same jobs as a look at all of them, alone and with others,
// page by page.
func testJobFilters(t *testing.T, s Stores) {
	a, b := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	states := []job.State{job.Complete, job.Failed, job.Declined, job.Cancelled, job.Expired}
	var records []job.Record
	for n := range 60 {
		r := record(a.ID, n)
		r.State, r.Convention = states[n%5], []job.Convention{job.JSON, job.Form, job.Run}[n%3]
		r.Call.Name = []string{"", "Import people.ql", "report", "100%_done"}[n%4]
		if r.State == job.Failed {
			r.Error = fmt.Appendf(nil, `{"code":%q,"message":"x"}`, []string{"sql_error", "no_such_table"}[n/5%2])
		}
		records = append(records, r)
	}
	records = append(records, record(b.ID, 60))
	must(t, s.Jobs.Record(t.Context(), records))
	for n := 70; n < 73; n++ {
		running(t, s, a.ID, n)
	}
	accept(t, s, task(a.ID, 80))
	all, err := s.Jobs.List(t.Context(), a.ID, job.Query{Limit: 1000})
	must(t, err)
	if len(all) != 64 {
		t.Fatalf("%d jobs", len(all))
	}
	moment := noon.Add(20 * time.Second)
	filters := map[string]func(*job.Query){
		"of a name":            func(q *job.Query) { q.Text = "PEOPLE" },
		"of a name with signs": func(q *job.Query) { q.Text = "%_d" },
		"of an error":          func(q *job.Query) { q.ErrorCode = "sql_error" },
		"of a convention":      func(q *job.Query) { q.Convention = job.Form },
		"since":                func(q *job.Query) { q.Since = moment },
		"until":                func(q *job.Query) { q.Until = moment },
	}
	for _, state := range append(states, job.Running, job.Accepted, job.Paused) {
		filters[string(state)] = func(q *job.Query) { q.State = state }
	}
	for first, set := range filters {
		for second, setToo := range filters {
			q := job.Query{Limit: 7}
			set(&q)
			setToo(&q)
			want := slices.DeleteFunc(slices.Clone(all), func(j job.Listed) bool { return !isMeant(&q, &j) })
			var got []job.Listed
			for {
				page, err := s.Jobs.List(t.Context(), a.ID, q)
				must(t, err)
				got = append(got, page...)
				if len(page) < q.Limit {
					break
				}
				q.Before = page[len(page)-1].ID
			}
			same(t, first+" and "+second, summaries(got), summaries(want))
		}
	}
}

// isMeant tells whether a listing asks for a job.
func isMeant(q *job.Query, j *job.Listed) bool {
	return (q.Text == "" || strings.Contains(strings.ToLower(j.Name), strings.ToLower(q.Text))) &&
		(q.ErrorCode == "" || j.ErrorCode == q.ErrorCode) && (q.Convention == "" || j.Convention == q.Convention) && (q.State == "" || j.State == q.State) &&
		!j.Created.Before(q.Since) && (q.Until.IsZero() || j.Created.Before(q.Until))
}

// testJobChanges: who follows an account's jobs finds new ones, and how those stand that go on.
func testJobChanges(t *testing.T, s Stores) {
	a, b := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	last, err := s.Changes.LastRef(t.Context(), a.ID)
	must(t, err)
	if last != 0 {
		t.Errorf("the last of none is %d", last)
	}
	must(t, s.Jobs.Record(t.Context(), []job.Record{record(a.ID, 1), record(b.ID, 2), record(a.ID, 3)}))
	l := running(t, s, a.ID, 4)
	accept(t, s, task(a.ID, 5))
	running(t, s, b.ID, 6)
	list, err := s.Changes.After(t.Context(), a.ID, 0, 10)
	must(t, err)
	if len(list) != 4 || !slices.IsSortedFunc(list, func(x, y job.Listed) int { return int(x.Ref - y.Ref) }) {
		t.Fatalf("%+v", list)
	}
	if last, err := s.Changes.LastRef(t.Context(), a.ID); err != nil || last != list[3].Ref {
		t.Errorf("the last is %d, %v", last, err)
	}
	rest, err := s.Changes.After(t.Context(), a.ID, list[1].Ref, 1)
	must(t, err)
	same(t, "one after another", summaries(rest), summaries(list[2:3]))
	before, err := s.Changes.Unfinished(t.Context(), a.ID, 10)
	must(t, err)
	if len(before) != 2 || before[list[2].Ref].State != job.Running || before[list[3].Ref].State != job.Accepted {
		t.Errorf("%v", before)
	}
	if some, err := s.Changes.Unfinished(t.Context(), a.ID, 1); err != nil || len(some) != 1 {
		t.Errorf("%v %v", some, err)
	}
	e := &job.End{Record: record(a.ID, 4)}
	e.State, e.Finished = job.Complete, noon
	must(t, s.Queue.Finish(t.Context(), l, e))
	after, err := s.Changes.Unfinished(t.Context(), a.ID, 10)
	must(t, err)
	if _, there := after[list[2].Ref]; there || len(after) != 1 {
		t.Errorf("%v", after)
	}
}

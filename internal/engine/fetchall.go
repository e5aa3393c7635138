package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// The arguments of FETCH ALL.
const (
	fetchAllList = iota
	fetchAllMost
	fetchAllTimeout
)

const (
	// fetchesAtOnce is how many calls FETCH ALL makes side by side where the script does not say,
	// and maxFetchesAtOnce how many it may say. The account's limit holds beside it.
	fetchesAtOnce    = 10
	maxFetchesAtOnce = 100
	// maxFetchAll is how many calls one FETCH ALL makes.
	maxFetchAll = 10_000
	// callsAhead is how many calls are ready beside those that are made, so that who makes them need not
	// wait for the run, and bytesAhead up to how many bytes all of them may have then.
	callsAhead = 100
	bytesAhead = 256 << 10
	// valueBytes is what a value takes in a list.
	valueBytes = 16
	// partsInterval is how long a reply waits to be recorded while others are on their way: a crash
	// repeats the calls of so long.
	partsInterval = 20 * time.Millisecond
)

// sideCall is a call of FETCH ALL that was made.
type sideCall struct {
	i     int
	bytes int // of its request
	reply Reply
	err   error
}

// fetchAll makes calls side by side. The replies are recorded one by one: where the run is cut
// off, another attempt makes those calls that have none.
func fetchAll(c *call) (value.Value, error) {
	if c.o.Network == nil {
		return value.Null, value.Errorf("not_available", "there is no network here")
	}
	requests, most, err := c.fetchAllArguments()
	if err != nil {
		return value.Null, err
	}
	key, first := "", c.state.Fetches
	c.state.Fetches += len(requests)
	Yield(c.ctx)
	if c.o.Journal != nil {
		if key, err = c.o.Journal.BeforeCall(c.ctx, c.effect.Seq); err != nil {
			return value.Null, err
		}
	}
	room := min(most+callsAhead, len(requests))
	s := sideCalls{call: c, requests: requests, replies: make([]value.Value, len(requests)), key: key, first: first, calls: make(chan Request, room), done: make(chan sideCall, room)}
	c.meter.Alloc(len(requests) * valueBytes)
	if err := s.run(most); err != nil {
		return value.Null, err
	}
	return value.ListOf(s.replies...), nil
}

// fetchAllArguments reads what is called, and how many calls are made at once. Nothing has been
// sent where it fails.
func (c *call) fetchAllArguments() (requests [][]value.Value, most int, err error) {
	list := c.args[fetchAllList]
	if !list.IsList() {
		return nil, 0, value.Errorf(value.WrongKind, "FETCH ALL takes a list of addresses, not %s", value.Describe(list))
	}
	n := list.List().Len()
	if n > maxFetchAll {
		return nil, 0, value.Errorf(value.BadArgument, "FETCH ALL makes at most %d calls, and the list has %d members: take it in parts", maxFetchAll, n)
	}
	most = fetchesAtOnce
	if v := c.args[fetchAllMost]; !v.IsNull() {
		if !v.IsInt() || v.Int64() < 1 || v.Int64() > maxFetchesAtOnce {
			return nil, 0, value.Errorf(value.BadArgument, "AT MOST takes how many calls are made at once, from 1 to %d, not %s", maxFetchesAtOnce, value.Describe(v))
		}
		most = int(v.Int64())
	}
	c.meter.Alloc(n * valueBytes * (fetchTimeout + 1))
	requests = make([][]value.Value, n)
	for i := range requests {
		if requests[i], err = c.fetchAllMember(i, list.List().At(i)); err != nil {
			return nil, 0, err
		}
	}
	return requests, most, nil
}

// fetchAllKeys are the keys of a member of FETCH ALL, by the arguments of FETCH.
var fetchAllKeys = [...]string{fetchURL: "url", fetchMethod: "method", fetchHeaders: "headers", fetchQuery: "query", fetchBody: "body"}

// fetchAllMember returns the arguments that FETCH has for a member of the list.
func (c *call) fetchAllMember(i int, v value.Value) ([]value.Value, error) {
	args := make([]value.Value, fetchTimeout+1)
	args[fetchTimeout] = c.args[fetchAllTimeout]
	switch {
	case v.IsText():
		args[fetchURL] = v
		return args, nil
	case !v.IsMap():
		return nil, value.Errorf(value.WrongKind, "member %d of FETCH ALL is an address, or a map such as {url: \"https://…\"}, not %s", i, value.Describe(v))
	}
	for key, v := range v.Map().All {
		known := false
		for arg, name := range fetchAllKeys {
			if key.Str() == name {
				args[arg], known = v, true
			}
		}
		if !known {
			return nil, value.Errorf(value.BadArgument, "member %d of FETCH ALL has %s, and takes %s", i, value.Quote(key.Str()), strings.Join(fetchAllKeys[:], ", "))
		}
	}
	if args[fetchURL].IsNull() {
		return nil, value.Errorf(value.BadArgument, "member %d of FETCH ALL has no url", i)
	}
	return args, nil
}

// sideCalls are calls that are made side by side.
type sideCalls struct {
	*call
	requests [][]value.Value
	replies  []value.Value
	key      string       // of which each call has one of its own
	first    int          // how many calls the run made before
	calls    chan Request // that are to be made, and done those that were
	done     chan sideCall
	under    int // way, with those in the channels
	bytes    int // of their requests
	serve    int // goroutines that make them
	flushed  time.Time
}

// run makes all calls. None is under way when it has returned, or panics.
func (s *sideCalls) run(most int) (err error) {
	ctx, cancel := context.WithCancel(WithoutPace(s.ctx))
	defer func() {
		cancel()
		close(s.calls)
		for ; s.under > 0; s.under-- {
			release((<-s.done).reply)
		}
	}()
	s.flushed = time.Now()
	for i := 0; i < len(s.requests) || s.under > 0; {
		for ; i < len(s.requests) && (s.under < most || s.under < cap(s.calls) && s.bytes < bytesAhead); i++ {
			if err := s.begin(ctx, i, most); err != nil {
				return err
			}
		}
		if s.under == 0 {
			break
		}
		if err := s.take(); err != nil {
			return err
		}
	}
	if s.o.Journal != nil {
		return s.o.Journal.EndParts(s.ctx)
	}
	return nil
}

// begin has call i made, one of most at once, unless its reply is recorded.
func (s *sideCalls) begin(ctx context.Context, i, most int) error {
	if s.o.Journal != nil {
		if recorded, ok := s.o.Journal.RecordedPart(s.effect.Seq, i); ok {
			if recorded.Kind != bytecode.EffectFetchAll {
				return ErrDiverged
			}
			s.meter.Work(int(recorded.Fuel))
			s.replies[i] = recorded.Value
			return nil
		}
	}
	one := *s.call
	one.args = s.requests[i]
	r, err := one.request()
	if err != nil {
		return s.settle(i, Reply{}, err)
	}
	r.Number = s.first + i + 1
	if s.key != "" && r.Header[idempotencyKey] == nil {
		r.Header[idempotencyKey] = []string{fmt.Sprintf("%s-%d", s.key, i)}
	}
	s.calls <- r
	s.bytes += requestBytes(r)
	if s.under++; s.serve < min(s.under, most) {
		s.serve++
		s.o.Network.Serve(ctx, s.calls, s.made)
	}
	return nil
}

// made is told of a call that was made.
func (s *sideCalls) made(r Request, reply Reply, err error) {
	s.done <- sideCall{r.Number - s.first - 1, requestBytes(r), reply, err}
}

// requestBytes is about what a call holds until it is made.
func requestBytes(r Request) int { return len(r.URL) + len(r.Body) }

// take waits for one of the calls under way.
func (s *sideCalls) take() error {
	var one sideCall
	select {
	case one = <-s.done:
	default:
		Yield(s.ctx)
		one = <-s.done
	}
	s.under--
	s.bytes -= one.bytes
	defer release(one.reply)
	return s.settle(one.i, one.reply, one.err)
}

func release(r Reply) {
	if r.Release != nil {
		r.Release()
	}
}

// settle makes the value of call i. One that failed is a value that says so; the error is for the
// whole statement.
func (s *sideCalls) settle(i int, reply Reply, err error) error {
	before := s.meter.Used()
	var v value.Value
	if err == nil {
		v, err = s.reply(reply)
	}
	var known *value.Error
	switch {
	case errors.As(err, &known):
		v = failedCall(s.meter, known)
	case err != nil:
		return err
	}
	s.replies[i] = v
	if s.o.Journal != nil {
		now := time.Now()
		flush := now.Sub(s.flushed) >= partsInterval
		if flush {
			s.flushed = now
		}
		s.o.Journal.AppendPart(s.ctx, i, Result{Seq: s.effect.Seq, Kind: s.effect.Kind, Value: v, Fuel: s.meter.Used() - before}, flush)
	}
	return nil
}

// failedCall is what stands in the place of a reply that did not come.
func failedCall(m *value.Meter, err *value.Error) value.Value {
	m.Alloc(value.BlockSize(len(err.Message)))
	e := value.NewMap(m, 2)
	e.SetText("code", value.Text(err.Code))
	e.SetText("message", value.Text(err.Message))
	all := value.NewMap(m, 1)
	all.SetText("error", e.Value())
	return all.Value()
}

// assemble makes the result of a FETCH ALL of its recorded parts, where it is not whole.
func (r *Run) assemble(t *Result) error {
	if t.Value.IsList() {
		r.state.Fetches += t.Value.List().Len()
		return nil
	}
	if !t.Value.IsInt() || t.Value.Int64() < 0 || t.Value.Int64() > maxFetchAll {
		return ErrDiverged
	}
	replies := make([]value.Value, t.Value.Int64())
	for i := range replies {
		part, ok := r.o.Journal.RecordedPart(t.Seq, i)
		if !ok || part.Kind != bytecode.EffectFetchAll {
			return fmt.Errorf("%w: part %d of effect %d is missing", ErrDiverged, i, t.Seq)
		}
		replies[i] = part.Value
	}
	r.state.Fetches += len(replies)
	t.Value = value.ListOf(replies...)
	return nil
}

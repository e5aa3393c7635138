package journal

import (
	"context"

	"ql/internal/engine"
	"ql/internal/job"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// Source is where the journal of a job is read from.
type Source struct {
	Job     job.ID
	Attempt int64    // for which it is read: Databases refuse earlier ones from then on
	Parts   [][]byte // as stored
	// Databases may hold receipts of the job.
	Databases engine.Databases
	// Open decrypts a part, or a receipt.
	Open func(sealed []byte) ([]byte, error)
	// MaxValue is how many bytes the value of one result may take.
	MaxValue int64
}

// History are the results that earlier attempts recorded. The zero History has none.
type History struct {
	results   map[int64]entry
	databases map[string]bool // that may hold receipts
	parts     map[part]entry  // of effects
	begun     map[int64]bool  // the steps whose commands on machines were begun
	bytes     int
	maxValue  int64
	last      int64 // the step of the result that was read last
}

// part names a part of an effect.
type part struct {
	seq   int64
	index int
}

// entry is a result as it was encoded. It is decoded when the run comes there: the values
// of a whole journal may be many times what a script may hold.
type entry struct {
	fuel     int64
	answered *engine.Answered
	repeated bool
	refueled bool
	bytes    []byte
}

// turnBytes is how many bytes of entries are read between two turns.
const turnBytes = 64 << 10

// Recover reads what earlier attempts committed: in the store, and as receipts in the
// databases that those parts name. Provisional parts count only where their transaction
// has ended. It takes turns by the pace of ctx.
func Recover(ctx context.Context, s Source) (History, error) {
	h := newHistory(s.MaxValue)
	turn := func() error { return engine.Turn(ctx) }
	ended := map[transaction]bool{}
	type txPart struct {
		transaction
		entries []byte
	}
	var provisional []txPart
	for _, sealed := range s.Parts {
		b, err := s.Open(sealed)
		if err != nil {
			return h, err
		}
		if len(b) > 0 && b[0] == entryProvisional {
			d := value.NewDecoder(b, s.MaxValue)
			t := decodeTransaction(d)
			if d.Err() != nil {
				return h, corrupt(d.Err())
			}
			provisional = append(provisional, txPart{t, b[len(b)-d.Remaining():]})
			continue
		}
		if err := h.read(b, turn, h.databases, ended); err != nil {
			return h, err
		}
	}
	for name := range h.databases {
		receipts, err := s.Databases.Receipts(ctx, name, s.Job, s.Attempt)
		if err != nil {
			return h, err
		}
		for _, r := range receipts {
			b, err := s.Open(r.Bytes)
			if err != nil {
				return h, err
			}
			if err := h.read(b, turn, map[string]bool{}, ended); err != nil {
				return h, err
			}
		}
	}
	for _, p := range provisional {
		if !ended[p.transaction] {
			continue // it was rolled back with its attempt
		}
		if err := h.read(p.entries, turn, map[string]bool{}, ended); err != nil {
			return h, err
		}
	}
	return h, nil
}

func newHistory(maxValue int64) History {
	return History{results: map[int64]entry{}, parts: map[part]entry{}, databases: map[string]bool{}, begun: map[int64]bool{}, maxValue: maxValue}
}

// read reads a part of a journal, and checks it. Entries are written one encoder each, so
// each is read by a decoder of its own. turn is called every so often.
func (h *History) read(b []byte, turn func() error, databases map[string]bool, ended map[transaction]bool) error {
	h.bytes += len(b)
	fuel, sinceTurn := int64(0), 0
	var answered *engine.Answered
	repeated, refueled, index := false, false, -1
	for len(b) > 0 {
		d := value.NewDecoder(b, h.maxValue)
		d.SetYield(turn)
		switch b[0] {
		case entryFuel:
			d.Byte()
			fuel = d.Int()
		case entryAnswered:
			answered = decodeAnswered(d)
		case entryRepeated:
			d.Byte()
			repeated = true
		case entryRefueled:
			d.Byte()
			refueled = true
		case entryPart:
			d.Byte()
			index = int(d.Int())
		case entryBegun:
			d.Byte()
			h.begun[d.Int()] = true
		case entryDatabase:
			d.Byte()
			databases[d.Text()] = true
		case entryTxEnded:
			ended[decodeTransaction(d)] = true
		default:
			r := decodeResult(d)
			e := entry{fuel, answered, repeated, refueled, b[:len(b)-d.Remaining()]}
			if index >= 0 {
				h.parts[part{r.Seq, index}] = e
			} else {
				h.results[r.Seq] = e
			}
			h.last = r.Seq
			fuel, answered, repeated, refueled, index = 0, nil, false, false, -1
		}
		if err := d.Err(); err != nil {
			return corrupt(err)
		}
		n := len(b) - d.Remaining()
		b = b[n:]
		if sinceTurn += n; sinceTurn >= turnBytes {
			sinceTurn = 0
			if err := turn(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Recorded returns the result of an effect, and forgets it. One that cannot be decoded any
// more has no kind: the run cannot continue with it.
func (h *History) Recorded(seq int64) (engine.Result, bool) {
	e, ok := h.results[seq]
	if !ok {
		return engine.Result{}, false
	}
	delete(h.results, seq)
	return h.decode(e), true
}

// RecordedPart is Recorded of a part of an effect.
func (h *History) RecordedPart(seq int64, i int) (engine.Result, bool) {
	e, ok := h.parts[part{seq, i}]
	if !ok {
		return engine.Result{}, false
	}
	delete(h.parts, part{seq, i})
	return h.decode(e), true
}

func (h *History) decode(e entry) engine.Result {
	d := value.NewDecoder(e.bytes, h.maxValue)
	r := decodeResult(d)
	r.Answered, r.Repeated, r.Refueled = e.answered, e.repeated, e.refueled
	if r.Fuel = e.fuel; d.Err() != nil {
		r.Kind = bytecode.EffectNone
	}
	return r
}

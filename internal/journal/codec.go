// Package journal records the results of a job's effects: it encodes them, commits each
// together with the change that it tells of, and reads them again for a run that replays
// what an earlier one did.
//
// Where parts are stored, how they are sealed, and what runs is its caller's business.
package journal

import (
	"errors"
	"fmt"
	"time"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// The kinds of entries.
const (
	entryValue byte = iota
	entryError
	entryDatabase    // a database that may hold receipts of the job
	entryLimit       // an error that names a limit
	entryFuel        // what the effect of the next entry cost the script
	entryProvisional // at the start of a part: all of it is of a transaction that was open
	entryTxEnded     // a transaction has ended, and its provisional parts count
	entryAnswered    // how the question of the next entry was answered
	entryBegun       // a command on a machine was begun
	entryRepeated    // the effect of the next entry was begun before, by an attempt that was cut off
	entryPart        // the next entry is of a part of its effect
	entryRefueled    // the machine got its fuel again before the effect of the next entry; in histories alone
)

// ErrCorrupt says that a stored journal cannot be read.
var ErrCorrupt = errors.New("the journal of a job is corrupt")

// transaction names one that an attempt was in.
type transaction struct{ begin, attempt int64 }

// AppendResult encodes the result of an effect.
func AppendResult(dst []byte, r engine.Result) []byte {
	if r.Fuel > 0 {
		e := value.NewEncoder(dst)
		e.Byte(entryFuel)
		e.Int(r.Fuel)
		dst = e.Bytes()
	}
	if r.Answered != nil {
		dst = appendAnswered(dst, r.Answered)
	}
	if r.Repeated {
		dst = append(dst, entryRepeated)
	}
	if r.Refueled {
		dst = append(dst, entryRefueled)
	}
	e := value.NewEncoder(dst)
	if r.Err != nil {
		kind := entryError
		if r.Err.Limit != nil {
			kind = entryLimit
		}
		e.Byte(kind)
		e.Int(r.Seq)
		e.Text(r.Kind.String())
		e.Text(r.Err.Code)
		e.Text(r.Err.Message)
		e.Value(r.Err.Data)
		if l := r.Err.Limit; l != nil {
			e.Text(l.Name)
			e.Int(l.Max)
		}
		return e.Bytes()
	}
	e.Byte(entryValue)
	e.Int(r.Seq)
	e.Text(r.Kind.String())
	e.Value(r.Value)
	return e.Bytes()
}

func appendAnswered(dst []byte, a *engine.Answered) []byte {
	e := value.NewEncoder(dst)
	e.Byte(entryAnswered)
	for _, text := range []string{a.Decision, a.Audience, a.By, a.Note, a.Receipt} {
		e.Text(text)
	}
	e.Int(a.At.UnixMicro())
	return e.Bytes()
}

func decodeAnswered(d *value.Decoder) *engine.Answered {
	d.Byte()
	a := &engine.Answered{Decision: d.Text(), Audience: d.Text(), By: d.Text(), Note: d.Text(), Receipt: d.Text()}
	a.At = time.UnixMicro(d.Int()).UTC()
	return a
}

// appendBegun notes that the command of a step was begun.
func appendBegun(dst []byte, seq int64) []byte {
	e := value.NewEncoder(dst)
	e.Byte(entryBegun)
	e.Int(seq)
	return e.Bytes()
}

// AppendPart encodes the result of part i of an effect.
func AppendPart(dst []byte, i int, r engine.Result) []byte {
	e := value.NewEncoder(dst)
	e.Byte(entryPart)
	e.Int(int64(i))
	return AppendResult(e.Bytes(), r)
}

func appendTransaction(dst []byte, kind byte, t transaction) []byte {
	e := value.NewEncoder(dst)
	e.Byte(kind)
	e.Int(t.begin)
	e.Int(t.attempt)
	return e.Bytes()
}

func decodeTransaction(d *value.Decoder) transaction {
	d.Byte()
	return transaction{d.Int(), d.Int()}
}

func appendDatabase(dst []byte, name string) []byte {
	e := value.NewEncoder(dst)
	e.Byte(entryDatabase)
	e.Text(name)
	return e.Bytes()
}

// decodeResult decodes the result of an effect.
func decodeResult(d *value.Decoder) engine.Result {
	kind := d.Byte()
	r := engine.Result{Seq: d.Int()}
	// By its name: numbers change between versions.
	if r.Kind = bytecode.EffectNamed(d.Text()); r.Kind == bytecode.EffectNone {
		d.Fail()
		return r
	}
	switch kind {
	case entryValue:
		r.Value = d.Value()
		return r
	case entryError, entryLimit:
		r.Err = &value.Error{Code: d.Text(), Message: d.Text()}
		r.Err.Data = d.Value()
	default:
		d.Fail()
	}
	if kind == entryLimit {
		r.Err.Limit = &value.LimitError{Name: d.Text(), Max: d.Int()}
	}
	return r
}

// corrupt marks the error of bytes that are no journal.
func corrupt(err error) error {
	if errors.Is(err, value.ErrCorrupt) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

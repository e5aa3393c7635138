package gen

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// Host answers effects. Its answers follow from its seed and from the effect's
// kind, number and arguments alone.
type Host struct {
	Seed uint64
	// Failures is how many effects of a hundred fail with an error that a
	// script may catch.
	Failures int
}

// Answer returns the result of an effect, or a *value.Error.
func (h Host) Answer(e *vm.Effect) (value.Value, error) {
	c := &choices{state: h.Seed ^ identity(e)}
	if c.chance(h.Failures) {
		return value.Null, value.Errorf(c.pick("unavailable", "expired", "sql_error"), "the host refuses %s number %d", e.Kind, e.Seq)
	}
	switch e.Kind {
	case bytecode.EffectNow:
		return value.Text(fmt.Sprintf("2026-03-%02dT%02d:00:00Z", 1+c.intn(28), c.intn(24))), nil
	case bytecode.EffectRandom:
		if len(e.Args) == 2 && e.Args[0].IsInt() && e.Args[1].IsInt() && e.Args[1].Int64() > e.Args[0].Int64() {
			low := e.Args[0].Int64()
			return value.Int(low + int64(c.next()%uint64(e.Args[1].Int64()-low+1))), nil
		}
		return value.Int(1), nil
	case bytecode.EffectUUID, bytecode.EffectToken, bytecode.EffectPasswordHash, bytecode.EffectShare, bytecode.EffectMail:
		return value.Text(fmt.Sprintf("%016x", c.next())), nil
	case bytecode.EffectPasswordMatches:
		return value.Bool(c.chance(50)), nil
	case bytecode.EffectConfirm:
		return value.Bool(c.chance(70)), nil
	case bytecode.EffectSessionGet, bytecode.EffectAccountGet, bytecode.EffectQuotaGet, bytecode.EffectSecretGet, bytecode.EffectJobGet:
		if len(e.Args) == 0 || e.Args[0].IsNull() {
			return h.row(c), nil
		}
		return h.any(c, 2), nil
	case bytecode.EffectGather, bytecode.EffectFetch, bytecode.EffectRun:
		return h.row(c), nil
	case bytecode.EffectFileRead:
		if e.Args[1].IsText() && e.Args[1].Str() == "lines" {
			return value.ListOf(value.Text("one"), value.Text(c.pick("two", "zwei", "deux"))), nil
		}
		return h.any(c, 3), nil
	case bytecode.EffectFileList:
		return h.rows(c), nil
	case bytecode.EffectRender:
		return value.Text(c.pick("<p>page</p>", "", "<b>é</b>")), nil
	case bytecode.EffectSQL:
		return h.sql(c, e), nil
	case bytecode.EffectFetchAll:
		return h.rows(c), nil
	case bytecode.EffectCallScript, bytecode.EffectStartScript:
		return value.Text(fmt.Sprintf("%016x", c.next())), nil
	case bytecode.EffectWaitJob, bytecode.EffectWaitSignal:
		return h.any(c, 2), nil
	case bytecode.EffectImport:
		return h.row(c), nil
	}
	return value.Null, nil
}

func (h Host) sql(c *choices, e *vm.Effect) value.Value {
	if e.Statement.Head != "SELECT" {
		m := value.NewMap(nil, 0)
		m.SetText("changes", value.Int(int64(c.intn(4))))
		m.SetText("last_id", value.Int(int64(c.intn(100))))
		return m.Value()
	}
	switch e.Statement.Mode {
	case bytecode.SQLRow:
		if c.chance(30) {
			return value.Null
		}
		return h.row(c)
	case bytecode.SQLValue:
		return value.Int(int64(c.intn(50)))
	}
	return h.rows(c)
}

func (h Host) row(c *choices) value.Value {
	m := value.NewMap(nil, 0)
	m.SetText("id", value.Int(int64(c.intn(20))))
	m.SetText("name", value.Text(c.pick("Ada", "Bob", "", "Çelik")))
	tags := value.NewList(nil, 0)
	for range c.intn(4) {
		tags.Append(nil, value.Int(int64(c.intn(9))))
	}
	m.SetText("tags", tags.Value())
	return m.Value()
}

func (h Host) rows(c *choices) value.Value {
	l := value.NewList(nil, 0)
	for range c.intn(4) {
		l.Append(nil, h.row(c))
	}
	return l.Value()
}

// any returns a value of any kind, at most depth levels deep.
func (h Host) any(c *choices, depth int) value.Value {
	switch n := c.intn(9); {
	case n == 0:
		return value.Null
	case n == 1:
		return value.Bool(c.chance(50))
	case n == 2:
		return value.Int(int64(c.intn(1000)) - 500)
	case n == 3:
		v, _ := value.Number(float64(c.intn(1000)) / 8)
		return v
	case n == 4:
		return value.Bytes([]byte(c.pick("bytes", "", "more")))
	case n == 5 && depth > 0:
		l := value.NewList(nil, 0)
		for range c.intn(5) {
			l.Append(nil, h.any(c, depth-1))
		}
		return l.Value()
	case n == 6 && depth > 0:
		m := value.NewMap(nil, 0)
		for i := range c.intn(12) {
			m.SetText(fmt.Sprintf("key%d", i), h.any(c, depth-1))
		}
		return m.Value()
	}
	return value.Text(c.pick("text", "ß", "a longer text than most", "7"))
}

// identity is a hash over all that an answer may depend on.
func identity(e *vm.Effect) uint64 {
	h := fnv.New64a()
	var n [9]byte
	n[0] = byte(e.Kind)
	binary.LittleEndian.PutUint64(n[1:], uint64(e.Seq))
	h.Write(n[:])
	for _, a := range e.Args {
		h.Write(value.AppendJSON(nil, a))
		h.Write([]byte{byte(a.Kind())})
	}
	fmt.Fprint(h, e.Database, e.Savepoint)
	return h.Sum64()
}

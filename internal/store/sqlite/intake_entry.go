package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/principal"
)

// The first byte of a record as it stands in the intake. A version stays readable: a later
// program may have to store what an earlier one has left.
const (
	entryVersion = 1
	// startedEntryVersion has besides by which named key the job was started, and which
	// program it ran.
	startedEntryVersion = 2
	// calledEntryVersion has that, and what the job was called with and used.
	calledEntryVersion = 3
)

// encodeRecord returns a record as it stands in the intake.
func encodeRecord(r *job.Record) []byte {
	b := make([]byte, 0, 160+len(r.ProgramName)+len(r.Error)+len(r.Response)+len(r.Trace)+len(r.Result)+int(r.Call.Held()+r.History.Bytes()))
	version := byte(entryVersion)
	switch {
	case r.History.Part != nil || r.Call.Name != "" || r.Call.Source != nil || r.Call.Request != nil || r.Call.Origin != 0 || r.Cost != (job.Cost{}):
		version = calledEntryVersion
	case r.KeyID != 0 || r.ProgramName != "":
		version = startedEntryVersion
	}
	b = append(b, version)
	b = append(b, r.ID[:]...)
	for _, n := range []int64{int64(r.Account), moment(r.Created), moment(r.Finished), r.Ran.Microseconds(), r.Steps, r.TraceDropped} {
		b = binary.AppendVarint(b, n)
	}
	for _, text := range []string{string(r.State), string(r.Mode), string(r.Convention), string(r.Credential), string(r.Encoding)} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	for _, bytes := range [][]byte{r.Error, r.Response, r.Trace, r.Result} {
		b = appendOptional(b, bytes)
	}
	if version >= startedEntryVersion {
		b = binary.AppendVarint(b, int64(r.KeyID))
		b = appendEntryText(b, r.ProgramName)
	}
	if version >= calledEntryVersion {
		b = appendCall(b, &r.Call)
		for _, n := range []int64{r.Cost.Fuel, r.Cost.Memory, r.Cost.Fetches} {
			b = binary.AppendVarint(b, n)
		}
		b = appendOptional(appendOptional(b, r.History.Spec), r.History.Part)
	}
	return b
}

func appendEntryText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendOptional appends bytes of which nil is not the same as none.
func appendOptional(b, bytes []byte) []byte {
	if bytes == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(bytes))+1), bytes...)
}

// appendCall appends what a job was called with. The number before a source is that of its
// texts: 0 where there is none.
func appendCall(b []byte, c *job.Call) []byte {
	b = appendEntryText(b, c.Name)
	b = appendOptional(b, c.Request)
	b = binary.AppendVarint(b, c.Origin)
	s := c.Source
	if s == nil {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(1+len(s.Files)))
	b = append(b, s.Hash[:]...)
	b = appendEntryText(b, s.Text)
	for i := range s.Files {
		b = appendEntryText(b, s.Files[i].Path)
		b = appendEntryText(b, s.Files[i].Text)
	}
	return b
}

// call reads what appendCall has written.
func (d *entryDecoder) call() (c job.Call) {
	c.Name, c.Request, c.Origin = d.text(), d.bytes(), d.int()
	texts := d.length()
	if texts == 0 || d.failed {
		return c
	}
	c.Source = &job.Source{}
	copy(c.Source.Hash[:], d.take(uint64(len(c.Source.Hash))))
	c.Source.Text = d.text()
	for range texts - 1 {
		if d.failed { // however many there should be
			return job.Call{}
		}
		c.Source.Files = append(c.Source.Files, job.SourceFile{Path: d.text(), Text: d.text()})
	}
	return c
}

// moment is a time as it is kept; 0 for none.
func moment(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

var errEntry = errors.New("an entry is cut off")

// decodeRecord returns the record of an entry.
func decodeRecord(entry []byte) (r job.Record, err error) {
	if len(entry) == 0 || entry[0] < entryVersion || entry[0] > calledEntryVersion {
		return r, fmt.Errorf("an entry has a form that this version of ql does not know: start the version that wrote it, or a later one")
	}
	d := entryDecoder{rest: entry[1:]}
	copy(r.ID[:], d.take(uint64(len(r.ID))))
	r.Account = account.ID(d.int())
	r.Created, r.Finished = d.time(), d.time()
	r.Ran = d.duration()
	r.Steps, r.TraceDropped = d.int(), d.int()
	r.State, r.Mode, r.Convention = job.State(d.text()), job.Mode(d.text()), job.Convention(d.text())
	r.Credential, r.Encoding = principal.Credential(d.text()), job.Encoding(d.text())
	r.Error, r.Response, r.Trace, r.Result = d.bytes(), d.bytes(), d.bytes(), d.bytes()
	if entry[0] >= startedEntryVersion {
		r.KeyID, r.ProgramName = account.NamedKeyID(d.int()), d.text()
	}
	if entry[0] >= calledEntryVersion {
		r.Call = d.call()
		r.Cost = job.Cost{Fuel: d.int(), Memory: d.int(), Fetches: d.int()}
		r.History = job.History{Spec: d.bytes(), Part: d.bytes()}
	}
	if d.failed || len(d.rest) > 0 {
		return job.Record{}, errEntry
	}
	return r, nil
}

// entryDecoder takes an entry apart. After a failure all it returns is zero.
type entryDecoder struct {
	rest   []byte
	failed bool
}

func (d *entryDecoder) take(n uint64) []byte {
	if d.failed || n > uint64(len(d.rest)) {
		d.failed = true
		return nil
	}
	taken := d.rest[:n:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *entryDecoder) int() int64 {
	n, size := binary.Varint(d.rest)
	return passed(d, n, size)
}

func (d *entryDecoder) length() uint64 {
	n, size := binary.Uvarint(d.rest)
	return passed(d, n, size)
}

// passed takes out a number that was read of so many bytes: of none, or fewer, where
// there was none to read.
func passed[T int64 | uint64](d *entryDecoder, n T, size int) T {
	if d.failed || size <= 0 {
		d.failed = true
		return 0
	}
	d.take(uint64(size))
	return n
}

func (d *entryDecoder) time() time.Time {
	if n := d.int(); n != 0 {
		return time.UnixMicro(n).UTC()
	}
	return time.Time{}
}

func (d *entryDecoder) duration() time.Duration {
	n := d.int()
	t := time.Duration(n) * time.Microsecond
	if t.Microseconds() != n { // more than a duration holds
		d.failed = true
		return 0
	}
	return t
}

func (d *entryDecoder) text() string { return string(d.take(d.length())) }

func (d *entryDecoder) bytes() []byte {
	n := d.length()
	if n == 0 {
		return nil
	}
	return append([]byte{}, d.take(n-1)...)
}

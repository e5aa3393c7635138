package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// largeJobs are answers that are written in pieces.
func largeJobs() map[string]*Job {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 100_001)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	mixed := make([]rune, 60_000)
	for i := range mixed {
		mixed[i] = []rune("a\x01\"\\\nä€😀\u007f\u2028")[random.IntN(10)]
	}
	out := func(result []byte) *Job {
		return &Job{Status: StatusComplete, ID: "x", Output: &Output{Result: result}}
	}
	whole := out([]byte(string(mixed)))
	whole.Output.Trace, whole.Output.Dropped = AppendTrace(nil, make([]Step, 1000)), 7
	whole.Output.Response = (&Response{Status: 201, Headers: []Pair{{"X", strings.Repeat("\x02", 10_000)}}}).AppendJSON(nil)
	whole.Prompt = &Prompt{ID: "p", Kind: "gather", Message: string(mixed), Schema: Raw(`"` + strings.Repeat("s", 20_000) + `"`), ExpiresAt: time.Unix(1, 0)}
	whole.Error = Raw(`{"code":"x"}`)
	whole.PollURL, whole.ConfirmURL, whole.FormURL, whole.ResumeAt = "https://a", "https://b", "https://c", time.Unix(2, 0)
	one := out([]byte(`{"text":"` + strings.Repeat("ä\\n", 50_000) + `"}`))
	one.Output.JSON = true
	unfit := out(nil)
	unfit.Prompt = &Prompt{Message: strings.Repeat("\xff", 10_000)}
	return map[string]*Job{
		"small": out([]byte("a\x01")), "control": out(bytes.Repeat([]byte{1}, 100_000)), "plain": out(bytes.Repeat([]byte{'x'}, 100_000)),
		"not text": out(noise), "mixed": out([]byte(string(mixed))), "all": whole, "one value": one, "nothing": {Status: StatusAccepted, ID: "x"},
		"a message that is not text": unfit,
	}
}

// TestPieces writes answers through buffers of several sizes: they are those that are
// built whole, to the byte, and as long as was said.
func TestPieces(t *testing.T) {
	for name, j := range largeJobs() {
		want := j.AppendJSON(nil)
		if !json.Valid(want) {
			t.Fatalf("%s: no JSON", name)
		}
		for _, size := range []int{64, 65, 1000, PieceBytes} {
			var got bytes.Buffer
			most := &longest{to: &got}
			if err := j.Pieces().Write(most, make([]byte, 0, size)); err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s, by %d bytes: %v, %d bytes instead of %d", name, size, err, got.Len(), len(want))
			}
			if most.bytes > size {
				t.Errorf("%s: %d bytes at once through a buffer of %d", name, most.bytes, size)
			}
		}
		if n := j.Pieces().Len(); n != int64(len(want)) {
			t.Errorf("%s: %d bytes are announced of %d", name, n, len(want))
		}
		failure := &Error{Code: "x", Message: "y", Line: 1}
		for _, e := range []*Error{nil, failure} {
			output, after := j.Text(e)
			var got bytes.Buffer
			if err := j.TextPieces(e).Write(&got, make([]byte, 0, 64)); err != nil || got.String() != string(output)+string(after) {
				t.Errorf("%s as text: %v", name, err)
			}
		}
	}
}

// longest notes how much is written at once.
type longest struct {
	to    *bytes.Buffer
	bytes int
}

func (l *longest) Write(b []byte) (int, error) {
	l.bytes = max(l.bytes, len(b))
	return l.to.Write(b)
}

// TestPiecesTakeLittle: an answer that is six times its result takes no memory beside
// its buffer.
func TestPiecesTakeLittle(t *testing.T) {
	j := &Job{Status: StatusOK, ID: "x", Output: &Output{Result: bytes.Repeat([]byte{1}, 4<<20)}}
	buffer := make([]byte, 0, PieceBytes)
	took := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			p := j.Pieces()
			_ = p.Len()
			_ = p.Write(discard{}, buffer)
		}
	}).AllocedBytesPerOp()
	if took > 4096 {
		t.Errorf("it takes %d bytes", took)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// TestPiecesEnd: who has hung up is written no more.
func TestPiecesEnd(t *testing.T) {
	gone := errors.New("gone")
	w := &breaks{after: 3, err: gone}
	j := largeJobs()["all"]
	if err := j.Pieces().Write(w, make([]byte, 0, 1000)); !errors.Is(err, gone) || w.writes != 4 {
		t.Errorf("%v after %d writes", err, w.writes)
	}
}

type breaks struct {
	after, writes int
	err           error
}

func (b *breaks) Write(p []byte) (int, error) {
	if b.writes++; b.writes > b.after {
		return 0, b.err
	}
	return len(p), nil
}

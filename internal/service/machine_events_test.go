package service

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"ql/internal/admit"
	"ql/internal/admit/admittest"
	"ql/internal/engine"
)

// TestMachinePieces: what waits for one who listens is bounded and counted, what is more is skipped and
// said so, and all is given back in the end.
func TestMachinePieces(t *testing.T) {
	ledger := admit.NewLedger(admit.LedgerOptions{Budget: 16 << 20, Share: 16 << 20})
	p := &machinePieces{timer: time.NewTimer(time.Hour), unwatch: func() {}, memory: ledger.Open(admit.AccountHolder(7))}
	put := func(stderr bool, piece []byte) {
		p.take(engine.MachineOutput{Machine: "box", Line: 3, Stderr: stderr, Piece: piece})
	}
	one := []byte("ab")
	put(false, one)
	one[0] = 'x' // is the command's to use again
	put(false, []byte("c"))
	put(true, []byte{0xff})
	list := p.next(9)
	if len(list) != 2 || string(list[0].Data) != `{"machine":"box","line":3,"stdout":"abc"}` || string(list[1].Data) != `{"machine":"box","line":3,"stderr":"/w==","encoding":"base64"}` || list[0].Position != 9 || list[0].Kind != EventMachine {
		t.Errorf("%+v", list)
	}
	for range 100 {
		for range 1000 {
			put(false, bytes.Repeat([]byte("y"), 1000))
		}
		if held := p.memory.Bytes(); held > 2*machineBytes*(1+escaped) {
			t.Fatalf("%d bytes are held", held)
		}
		if list := p.next(9); len(list) != 1 || len(list[0].Data) > machineBytes+100 || !strings.Contains(string(list[0].Data), `,"skipped":9`) {
			t.Fatalf("%d events: %+v", len(list), list)
		}
	}
	if list := p.next(9); list != nil || p.memory.Bytes() != 0 {
		t.Errorf("%+v, and %d bytes are held when all was told", list, p.memory.Bytes())
	}
	// Where there is no room at all, who listens is told how much there was.
	full, err := ledger.Reserve(t.Context(), admit.AccountHolder(7), 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	put(true, []byte("more"))
	if list := p.next(9); len(list) != 1 || string(list[0].Data) != `{"machine":"box","line":3,"stderr":"","skipped":4}` {
		t.Errorf("%+v", list)
	}
	full.Release()
	put(false, []byte("rest"))
	p.stop()
	put(false, []byte("late"))
	admittest.CheckIdle(t, nil, ledger)
}

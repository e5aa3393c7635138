package service

import (
	"errors"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/execution"
	"ql/internal/job"
	"ql/internal/wire"
	"ql/lang"
	"ql/lang/vm"
)

// TestNoRoomForACopy: of an output that there is no room to send no copy is made, which nobody
// would count. What is stored of the job has it whole.
func TestNoRoomForACopy(t *testing.T) {
	program, err := lang.Compile(`EMIT REPEAT("x", 100000)`, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, noRoom := range map[string]error{"room": nil, "no room": errors.New("no room")} {
		m := vm.New(program, account.Standard.Limits().SyncMachine(), vm.Input{})
		if s := m.Run(t.Context()); s != vm.Done {
			t.Fatal(s, m.Err())
		}
		output := m.Output()
		k := &syncRun{
			Service: &Service{o: Options{Clock: time.Now}}, Execution: &execution.Execution{Spec: execution.Spec{Trace: wire.TraceNone}},
			query: new(Query), machine: m, answer: answerMemory{err: noRoom},
		}
		r, _ := k.finish(job.Complete, nil)
		if len(r.Result) != 100000 || (&r.Result[0] == &output[0]) != (noRoom != nil) {
			t.Errorf("%s: %d bytes, the machine's own: %v", name, len(r.Result), &r.Result[0] == &output[0])
		}
		m.Release()
	}
}

package worker

import (
	"slices"

	"ql/internal/engine"
	"ql/internal/job"
)

// machineListener is somebody who is told what the commands of a job put out.
type machineListener struct{ take func(engine.MachineOutput) }

// WatchMachines has take called with what the commands of a job put out while it runs here, until
// stop was called. What take is given is not its to keep, and it does not wait: the command would.
func (w *Worker) WatchMachines(id job.ID, take func(engine.MachineOutput)) (stop func()) {
	l := &machineListener{take}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners[id] = append(slices.Clip(w.listeners[id]), l) // a command may be about to tell the others
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		rest := slices.DeleteFunc(slices.Clone(w.listeners[id]), func(one *machineListener) bool { return one == l })
		if w.listeners[id] = rest; len(rest) == 0 {
			delete(w.listeners, id)
		}
	}
}

// machineOutput tells those who listen. Nothing of it is kept for others: the script has it in its
// result, and the journal that.
func (a *attempt) machineOutput(o engine.MachineOutput) {
	a.w.mu.Lock()
	all := a.w.listeners[a.lease.ID]
	a.w.mu.Unlock()
	for _, l := range all {
		l.take(o)
	}
}

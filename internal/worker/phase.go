package worker

import "fmt"

// phase is how far an attempt at a job has come. docs/architecture.md draws the ways
// between the phases, and a test compares the drawing with phaseTransitions.
type phase uint8

const (
	phaseCreated   phase = iota // of a submission, a reply, or a job that is due; it has no lease
	phaseInline                 // it runs before its job is accepted
	phaseClaimed                // it has the lease: others see it, and can stop it
	phasePrepared               // the job's row is read, and there is memory to load it
	phaseAdmitted               // it has a ticket: leave to compute, and the script's memory
	phaseLoaded                 // it has the script, and where that continues
	phaseRunning                // the script runs
	phaseSuspended              // over: the job is stored, and continues at an answer or a moment
	phaseFinished               // over: the job's end is stored
	phaseReleased               // over: another attempt continues, or another has the job
	phaseCount
)

var phaseNames = [phaseCount]string{"created", "inline", "claimed", "prepared", "admitted", "loaded", "running", "suspended", "finished", "released"}

// String returns the phase's name.
func (p phase) String() string { return phaseNames[p] }

// isOver reports whether nothing follows p.
func (p phase) isOver() bool { return phaseTransitions[p] == 0 }

// phaseSet is a set of phases.
type phaseSet uint16

func phasesOf(list ...phase) (s phaseSet) {
	for _, p := range list {
		s |= 1 << p
	}
	return s
}

func (s phaseSet) has(p phase) bool { return s&(1<<p) != 0 }

// phaseTransitions has, for each phase, those that may follow it.
var phaseTransitions = [phaseCount]phaseSet{
	phaseCreated:  phasesOf(phaseInline, phaseClaimed, phaseReleased),
	phaseInline:   phasesOf(phaseClaimed, phaseFinished, phaseReleased),
	phaseClaimed:  phasesOf(phasePrepared, phaseAdmitted, phaseFinished, phaseReleased),
	phasePrepared: phasesOf(phaseAdmitted, phaseFinished, phaseReleased),
	phaseAdmitted: phasesOf(phaseLoaded, phaseRunning, phaseFinished, phaseReleased),
	phaseLoaded:   phasesOf(phaseRunning, phaseFinished, phaseReleased),
	phaseRunning:  phasesOf(phaseSuspended, phaseFinished, phaseReleased),
}

// enter steps into the next phase. One that may not follow is a fault of the worker.
func (a *attempt) enter(next phase) {
	if !phaseTransitions[a.phase].has(next) {
		panic(fmt.Sprintf("an attempt at a job is %s, and cannot be %s then", a.phase, next))
	}
	a.phase = next
	if next.isOver() {
		a.w.ended[next].Add(1)
	}
}

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"ql/lang/value"
)

// maxHeld is how many files the loops that a script is in go through at once. Their content is
// kept while the script is stored.
const maxHeld = 16

// mayHold returns the error of a loop that would be in too many others.
func (c *call) mayHold() error {
	if len(c.state.Held) < maxHeld {
		return nil
	}
	c.meter.Work(len(c.machine.Registers()))
	if c.HeldFiles(); len(c.state.Held) < maxHeld {
		return nil
	}
	return value.Exceeded("held_files", maxHeld, "a script is in loops through %d files at most: end one before another begins", maxHeld)
}

// noteHeld notes that a loop goes through a file.
func (r *Run) noteHeld(ref []byte) {
	if sum := refSum(ref); !slices.Contains(r.state.Held, sum) {
		// Runs that were made of the same State share what it had.
		r.state.Held = append(slices.Clip(r.state.Held), sum)
	}
}

func refSum(ref []byte) string {
	sum := sha256.Sum256(ref)
	return hex.EncodeToString(sum[:16])
}

// refOf returns the reference in what file_open gave the machine.
func refOf(opened value.Value) ([]byte, bool) {
	if !opened.IsMap() {
		return nil, false
	}
	file, _ := opened.Map().Get("file")
	return heldRef(file)
}

// heldRef returns the reference in what a loop keeps of its file, or in what looks like that.
func heldRef(v value.Value) ([]byte, bool) {
	if !v.IsMap() {
		return nil, false
	}
	ref, _ := v.Map().Get("ref")
	if ref.Kind() != value.KindBytes || len(ref.Raw()) == 0 {
		return nil, false
	}
	return ref.Raw(), true
}

// HeldFiles returns the references to the content that the loops go through which the script
// is in, and to the files of its request. What a script makes itself that looks like one is none: content of others could be
// named by it.
func (r *Run) HeldFiles() (refs [][]byte) {
	refs = r.keptRequestFiles()
	if len(r.state.Held) == 0 {
		return refs
	}
	var standing []string
	seen := map[*byte]bool{} // loops and their pieces share one reference
	for _, v := range r.machine.Registers() {
		ref, ok := heldRef(v)
		if !ok || seen[&ref[0]] {
			continue
		}
		seen[&ref[0]] = true
		sum := refSum(ref)
		if slices.Contains(r.state.Held, sum) && !slices.Contains(standing, sum) {
			standing, refs = append(standing, sum), append(refs, ref)
		}
	}
	r.state.Held = standing
	return refs
}

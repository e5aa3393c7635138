package relational

// The states of moves. Their rows are written by package move.
const (
	MoveFilling = "filling" // all is being copied into this store
	MoveFilled  = "filled"  // it was, and verified
	MoveLeft    = "left"    // all was copied elsewhere
)

// MovedError is why a store serves nobody.
type MovedError struct {
	State string
	Other string // where it is filled from, or the flags of ql move that lead back
}

func (e *MovedError) Error() string {
	if e.State == MoveFilling {
		return "this store is being filled from " + e.Other + ", and is not whole: give the same ql move again, which goes on to its end, and start the server then"
	}
	return "all that this store had was moved elsewhere, and may have changed there: serve that; the way back is ql move " + e.Other + " --to a new place"
}

// CheckMoves returns a *MovedError where a store is being filled, or what it has was moved elsewhere.
func (t Tx) CheckMoves() error {
	var e MovedError
	found, err := t.one("SELECT state, other FROM moves WHERE state <> '"+MoveFilled+"' ORDER BY state LIMIT 1", func(r row) { e.State, e.Other = r.text(0), r.text(1) })
	if err != nil || !found {
		return err
	}
	return &e
}

package source

// Yield lets the phases that work through a text be stopped, and let others go
// first: whoever takes a step of work calls Step, and every so many of them what it
// was made with is called.
type Yield struct {
	call func() error
	left int
}

// yieldEvery is how many steps, each a token, a node or an instruction, lie between
// two calls: together well under a tenth of a millisecond.
const yieldEvery = 256

// Interrupted is what Step panics with where the call returned an error: no phase has
// anything to do then but to end.
type Interrupted struct{ Err error }

// NewYield returns a Yield of a function, which may be nil.
func NewYield(call func() error) *Yield { return &Yield{call: call, left: yieldEvery} }

// Step counts a step of work.
func (y *Yield) Step() {
	if y.left--; y.left < 0 {
		y.turn()
	}
}

func (y *Yield) turn() {
	y.left = yieldEvery
	if y.call == nil {
		return
	}
	if err := y.call(); err != nil {
		panic(Interrupted{err})
	}
}

package value

import "math/big"

// DecimalSum adds decimals up in one place. It may have more digits on its way than
// a decimal has, and no other sum depends on their order.
type DecimalSum struct {
	total big.Int
	scale int
}

// sumWork is what adding one decimal takes.
const sumWork = 14

// Add adds a decimal or an integer.
func (s *DecimalSum) Add(m *Meter, v Value) {
	m.Work(sumWork)
	d, _ := operand(v)
	n := d.integer()
	switch {
	case d.scale > s.scale:
		s.total.Mul(&s.total, ten(d.scale-s.scale))
		s.scale = d.scale
	case d.scale < s.scale:
		n.Mul(n, ten(s.scale-d.scale))
	}
	s.total.Add(&s.total, n)
}

// Value returns the sum.
func (s *DecimalSum) Value(m *Meter) (Value, *Error) {
	m.Work(wideWork)
	return exactly(m, new(big.Int).Set(&s.total), s.scale)
}

// AddWide adds an integer of 128 bits.
func (s *DecimalSum) AddWide(hi int64, lo uint64) {
	n := big.NewInt(hi)
	n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(lo))
	s.total.Add(&s.total, n.Mul(n, ten(s.scale)))
}

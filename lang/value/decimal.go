package value

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// MaxDigits is how many digits a decimal has at most, and how many of them after
// its point.
const MaxDigits = 38

// decimal is an exact number taken apart: hi and lo are its digits as one integer
// below 10^MaxDigits, scale is how many of them stand after the point. 12.30 and
// 12.3 are equal and not the same: sums and prices are printed with the digits
// that they were given.
//
// As a value it is a block of decimalSize bytes: the sign and the scale in the
// first, the integer in the others, its most significant byte first.
type decimal struct {
	negative bool
	scale    int
	hi, lo   uint64
}

const (
	decimalSize  = 17
	negativeFlag = 0x80
)

// What it takes to compute with decimals: where the integers fit one word, where
// they do not, and to divide them.
const (
	quickWork  = 3
	wideWork   = 40
	divideWork = 120
)

// IsDecimal reports whether v is a decimal.
func (v Value) IsDecimal() bool { return v.p != nil && (*header)(v.p).kind == KindDecimal }

// IsNumeric reports whether v is a number or a decimal.
func (v Value) IsNumeric() bool { return v.IsNumber() || v.IsDecimal() }

func (v Value) decimal() decimal {
	c := v.Raw()
	return decimal{
		negative: c[0]&negativeFlag != 0, scale: int(c[0] &^ negativeFlag),
		hi: binary.BigEndian.Uint64(c[1:]), lo: binary.BigEndian.Uint64(c[9:]),
	}
}

// value returns d, which has no more digits than it may, as a value.
func (d decimal) value(m *Meter) Value {
	m.Alloc(BlockSize(decimalSize))
	b := newBlock(KindDecimal, decimalSize)
	c := b.content(decimalSize)
	c[0] = byte(d.scale)
	if d.negative && !d.zero() {
		c[0] |= negativeFlag
	}
	binary.BigEndian.PutUint64(c[1:], d.hi)
	binary.BigEndian.PutUint64(c[9:], d.lo)
	b.used = decimalSize
	return Value{unsafe.Pointer(b), decimalSize}
}

// validDecimal reports whether c is what a decimal is stored as.
func validDecimal(c []byte) bool {
	if len(c) != decimalSize || c[0]&^negativeFlag > MaxDigits {
		return false
	}
	hi, lo := binary.BigEndian.Uint64(c[1:]), binary.BigEndian.Uint64(c[9:])
	return fits(hi, lo) && (hi|lo != 0 || c[0]&negativeFlag == 0)
}

const (
	wordDigits = 19
	wordPower  = 10_000_000_000_000_000_000 // 10^wordDigits
)

// limitHi and limitLo are 10^MaxDigits.
var limitHi, limitLo = bits.Mul64(wordPower, wordPower)

// fits reports whether an integer has at most MaxDigits digits.
func fits(hi, lo uint64) bool { return hi < limitHi || hi == limitHi && lo < limitLo }

func (d decimal) zero() bool { return d.hi|d.lo == 0 }

func (d decimal) sign() int {
	switch {
	case d.zero():
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func decimalOfInt(i int64) decimal { return decimal{negative: i < 0, lo: magnitude(i)} }

// operand returns a decimal, or an integer as one; a float is neither.
func operand(v Value) (decimal, bool) {
	switch v.Kind() {
	case KindDecimal:
		return v.decimal(), true
	case KindInt:
		return decimalOfInt(int64(v.n)), true
	}
	return decimal{}, false
}

// operands returns two operands of arithmetic of which at least one is a decimal.
func operands(a, b Value) (x, y decimal, ok bool) {
	if !a.IsDecimal() && !b.IsDecimal() {
		return x, y, false
	}
	x, okX := operand(a)
	y, okY := operand(b)
	return x, y, okX && okY
}

// small returns the integer of d where it is well below 64 bits.
func (d decimal) small() (int64, bool) {
	const most = 1 << 61
	if d.hi != 0 || d.lo >= most {
		return 0, false
	}
	if d.negative {
		return -int64(d.lo), true
	}
	return int64(d.lo), true
}

// wordPowers are the powers of ten that fit an int64.
var wordPowers = func() (p [wordDigits]int64) {
	for i, n := 0, int64(1); i < len(p); i, n = i+1, n*10 {
		p[i] = n
	}
	return p
}()

// aligned returns the integers of two decimals brought to one scale, where they
// are well below 64 bits.
func aligned(a, b decimal) (x, y int64, scale int, ok bool) {
	x, okX := a.small()
	y, okY := b.small()
	if !okX || !okY {
		return 0, 0, 0, false
	}
	switch {
	case a.scale < b.scale:
		x, ok = shifted(x, b.scale-a.scale)
	case a.scale > b.scale:
		y, ok = shifted(y, a.scale-b.scale)
	default:
		ok = true
	}
	return x, y, max(a.scale, b.scale), ok
}

func shifted(x int64, digits int) (int64, bool) {
	if digits >= len(wordPowers) {
		return 0, x == 0
	}
	hi, lo := bits.Mul64(magnitude(x), uint64(wordPowers[digits]))
	return x * wordPowers[digits], hi == 0 && lo < 1<<62
}

// tens are the powers of ten that decimals need.
var tens = sync.OnceValue(func() (p [2*MaxDigits + 2]*big.Int) {
	p[0] = big.NewInt(1)
	for i := 1; i < len(p); i++ {
		p[i] = new(big.Int).Mul(p[i-1], big.NewInt(10))
	}
	return p
})

func ten(n int) *big.Int {
	if p := tens(); n < len(p) {
		return p[n]
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// integer returns the integer of d with its sign.
func (d decimal) integer() *big.Int {
	n := new(big.Int).SetUint64(d.hi)
	n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(d.lo))
	if d.negative {
		n.Neg(n)
	}
	return n
}

// wide returns the integers of two decimals brought to one scale.
func wide(a, b decimal) (x, y *big.Int, scale int) {
	x, y, scale = a.integer(), b.integer(), max(a.scale, b.scale)
	x.Mul(x, ten(scale-a.scale))
	y.Mul(y, ten(scale-b.scale))
	return x, y, scale
}

// exactly returns n with so many digits after the point. It changes n. Zeros at the
// end are given up where there are more digits than a decimal has; where that
// does not help, the result is none.
func exactly(m *Meter, n *big.Int, scale int) (Value, *Error) {
	limit := ten(MaxDigits)
	for rest := new(big.Int); scale > MaxDigits || n.CmpAbs(limit) >= 0; scale-- {
		if scale == 0 {
			return Null, Errorf(NumberRange, "the result has more than %d digits, the most that a decimal has", MaxDigits)
		}
		if n.QuoRem(n, ten(1), rest); rest.Sign() != 0 {
			return Null, Errorf(NumberRange, "the result has more than %d digits, the most that a decimal has: round what it is computed from, or ask for fewer digits", MaxDigits)
		}
	}
	d := decimal{negative: n.Sign() < 0, scale: scale}
	var words [16]byte
	n.FillBytes(words[:])
	d.hi, d.lo = binary.BigEndian.Uint64(words[:]), binary.BigEndian.Uint64(words[8:])
	return d.value(m), nil
}

// ofSmall returns an integer below 64 bits as a decimal.
func ofSmall(m *Meter, n int64, scale int) Value {
	d := decimalOfInt(n)
	d.scale = scale
	return d.value(m)
}

func addDecimals(m *Meter, a, b decimal) (Value, *Error) {
	if x, y, scale, ok := aligned(a, b); ok {
		m.Work(quickWork)
		return ofSmall(m, x+y, scale), nil
	}
	m.Work(wideWork)
	x, y, scale := wide(a, b)
	return exactly(m, x.Add(x, y), scale)
}

func (d decimal) negated() decimal {
	d.negative = !d.negative
	return d
}

func mulDecimals(m *Meter, a, b decimal) (Value, *Error) {
	scale := a.scale + b.scale
	if a.hi|b.hi == 0 && scale <= MaxDigits {
		if hi, lo := bits.Mul64(a.lo, b.lo); fits(hi, lo) {
			m.Work(quickWork)
			return decimal{negative: a.negative != b.negative, scale: scale, hi: hi, lo: lo}.value(m), nil
		}
	}
	m.Work(wideWork)
	n := a.integer()
	return exactly(m, n.Mul(n, b.integer()), scale)
}

func dividedByZero(a Value) *Error {
	return Errorf(DivisionByZero, "cannot divide %s by zero", AppendText(nil, a))
}

// divDecimals divides exactly, with at least the digits of a. A quotient whose
// digits never end is refused: whoever wants it cut says where, by DIVIDE.
func divDecimals(m *Meter, a, b decimal) (Value, *Error) {
	m.Work(divideWork)
	n, d, _ := wide(a, b)
	common := new(big.Int).GCD(nil, nil, new(big.Int).Abs(n), new(big.Int).Abs(d))
	n.Quo(n, common)
	d.Quo(d, common)
	// A fraction in lowest terms ends if its divisor is made of twos and fives,
	// after as many digits as it has of either.
	odd := new(big.Int).Abs(d)
	twos := int(odd.TrailingZeroBits())
	odd.Rsh(odd, uint(twos))
	fives := 0
	for rest := new(big.Int); ; fives++ {
		q, _ := new(big.Int).QuoRem(odd, big.NewInt(5), rest)
		if rest.Sign() != 0 {
			break
		}
		odd = q
	}
	if !odd.IsInt64() || odd.Int64() != 1 {
		return Null, Errorf(NumberRange, "the digits of %s / %s never end: DIVIDE(?a, ?b, 2) gives so many of them, rounded", a.text(), b.text())
	}
	scale := max(twos, fives, a.scale)
	n.Mul(n, ten(scale))
	return exactly(m, n.Quo(n, d), scale)
}

// quotient returns a DIV b and a % b.
func quotient(m *Meter, a, b decimal) (q, r *big.Int, scale int) {
	m.Work(wideWork)
	x, y, scale := wide(a, b)
	q, r = x.QuoRem(x, y, new(big.Int))
	return q, r, scale
}

// compareDecimals compares two numbers of which at least one is a decimal. A float
// stands for the digits that it is written with, which order floats as they are:
// what is written alike is equal.
func compareDecimals(m *Meter, a, b Value) int {
	switch {
	case a.IsFloat():
		return -compareToFloat(m, b.decimal(), a.Float64())
	case b.IsFloat():
		return compareToFloat(m, a.decimal(), b.Float64())
	}
	x, _ := operand(a)
	y, _ := operand(b)
	return compareDecimal(m, x, y)
}

func compareDecimal(m *Meter, a, b decimal) int {
	if c := cmp.Compare(a.sign(), b.sign()); c != 0 {
		return c
	}
	if x, y, _, ok := aligned(a, b); ok {
		m.Work(1)
		return cmp.Compare(x, y)
	}
	m.Work(wideWork)
	x, y, _ := wide(a, b)
	return x.Cmp(y)
}

func compareToFloat(m *Meter, d decimal, f float64) int {
	if c := cmp.Compare(d.sign(), cmp.Compare(f, 0)); c != 0 {
		return c
	}
	m.Work(floatWork)
	sign := d.sign()
	x, ok := decimalOfFloat(f)
	if ok {
		return compareDecimal(m, d, x)
	}
	if math.Abs(f) > 1 { // larger than any decimal
		return -sign
	}
	// It has digits beyond the last place of a decimal: those before it decide,
	// and where they are the same it is the larger one.
	m.Work(wideWork)
	digits, exponent := floatDigits(f)
	x = decimal{negative: f < 0, lo: digits, scale: MaxDigits}
	for ; exponent < -MaxDigits; exponent++ {
		x.lo /= 10
	}
	if c := compareDecimal(m, d, x); c != 0 {
		return c
	}
	return -sign
}

// floatDigits returns the digits that a float is written with, without its sign:
// digits × 10^exponent.
func floatDigits(f float64) (digits uint64, exponent int) {
	var buf [32]byte
	mantissa, power, _ := strings.Cut(string(strconv.AppendFloat(buf[:0], math.Abs(f), 'e', -1, 64)), "e")
	exponent, _ = strconv.Atoi(power)
	for i := range len(mantissa) {
		if c := mantissa[i]; c != '.' {
			digits = 10*digits + uint64(c-'0')
		}
	}
	if len(mantissa) > 2 {
		exponent -= len(mantissa) - 2
	}
	return digits, exponent
}

// decimalOfFloat returns the decimal of a float's written digits, if it has no more
// of them than a decimal.
func decimalOfFloat(f float64) (decimal, bool) {
	if i := int64(f); float64(i) == f && i != math.MaxInt64 && i != math.MinInt64 {
		return decimalOfInt(i), true
	}
	digits, exponent := floatDigits(f)
	d := decimal{negative: f < 0, lo: digits, scale: -exponent}
	if exponent <= 0 {
		return d, d.scale <= MaxDigits
	}
	if exponent > MaxDigits {
		return d, false
	}
	n := d.integer()
	n.Mul(n, ten(exponent))
	if n.CmpAbs(ten(MaxDigits)) >= 0 {
		return d, false
	}
	var words [16]byte
	n.FillBytes(words[:])
	return decimal{negative: d.negative, hi: binary.BigEndian.Uint64(words[:]), lo: binary.BigEndian.Uint64(words[8:])}, true
}

// ToDecimal returns a number as a decimal: with the digits that it is written with.
func ToDecimal(m *Meter, v Value) (Value, *Error) {
	switch v.Kind() {
	case KindDecimal:
		return v, nil
	case KindInt:
		return ofSmall(m, int64(v.n), 0), nil
	}
	m.Work(floatWork)
	d, ok := decimalOfFloat(v.Float64())
	if !ok {
		return Null, Errorf(NumberRange, "the number %s does not fit a decimal, which has at most %d digits, before and after its point together", AppendNumber(nil, v), MaxDigits)
	}
	return d.value(m), nil
}

// ParseDecimal reads a decimal: digits, with or without a sign before them and a
// point and more digits after them.
func ParseDecimal(m *Meter, s string) (Value, *Error) {
	m.Work(quickWork + len(s)/2)
	bad := func() (Value, *Error) {
		return Null, Errorf(NotANumber, "the text %s is not a decimal; a decimal looks like 12, -3.5 or 1200.00", Quote(s))
	}
	digits := strings.TrimPrefix(s, "-")
	var d decimal
	if d.negative = len(digits) < len(s); !d.negative {
		digits = strings.TrimPrefix(s, "+")
	}
	whole, fraction, point := strings.Cut(digits, ".")
	if whole == "" || point && fraction == "" {
		return bad()
	}
	d.scale = len(fraction)
	count := 0 // without zeros at the start
	for _, part := range [...]string{whole, fraction} {
		for i := range len(part) {
			c := part[i] - '0'
			if c > 9 {
				return bad()
			}
			if count > 0 || c > 0 {
				count++
			}
			if count <= MaxDigits {
				d.push(uint64(c))
			}
		}
	}
	if count > MaxDigits || d.scale > MaxDigits {
		return Null, Errorf(NumberRange, "the text %s has too many digits: a decimal has at most %d, before and after its point together", Quote(s), MaxDigits)
	}
	return d.value(m), nil
}

// push adds a digit at the end, for which there is room.
func (d *decimal) push(digit uint64) {
	hi, lo := bits.Mul64(d.lo, 10)
	lo, carry := bits.Add64(lo, digit, 0)
	d.hi, d.lo = d.hi*10+hi+carry, lo
}

func (d decimal) text() string { return string(d.appendTo(nil)) }

// appendTo appends d as it is written: all its digits, none of them an exponent.
func (d decimal) appendTo(dst []byte) []byte {
	var buf [2*MaxDigits + 4]byte
	digits := buf[:0]
	high, low := bits.Div64(d.hi, d.lo, wordPower) // hi is below 2^63
	if high > 0 {
		digits = strconv.AppendUint(digits, high, 10)
		start := len(digits)
		digits = append(digits, "0000000000000000000"...)
		for i := len(digits) - 1; i >= start; i-- {
			digits[i] = '0' + byte(low%10)
			low /= 10
		}
	} else {
		digits = strconv.AppendUint(digits, low, 10)
	}
	if d.negative {
		dst = append(dst, '-')
	}
	whole := len(digits) - d.scale
	if whole <= 0 {
		dst = append(dst, "0."...)
		for range -whole {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[:whole]...)
	if d.scale > 0 {
		dst = append(dst, '.')
		dst = append(dst, digits[whole:]...)
	}
	return dst
}

// AppendDecimal appends a decimal as it is written.
func AppendDecimal(dst []byte, v Value) []byte { return v.decimal().appendTo(dst) }

// DecimalScale returns how many digits of a decimal stand after its point.
func DecimalScale(v Value) int { return v.decimal().scale }

// Sign returns -1, 0 or 1 for a number or a decimal below, at or above zero.
func Sign(v Value) int {
	switch v.Kind() {
	case KindDecimal:
		return v.decimal().sign()
	case KindInt:
		return cmp.Compare(int64(v.n), 0)
	}
	return cmp.Compare(v.Float64(), 0)
}

// DecimalToNumber returns the number that a decimal is, or the nearest one.
func DecimalToNumber(m *Meter, v Value) Value {
	m.Work(wideWork)
	d := v.decimal()
	n, rest := d.integer(), new(big.Int)
	if n.QuoRem(n, ten(d.scale), rest); rest.Sign() == 0 && n.IsInt64() {
		return Int(n.Int64())
	}
	f, _ := strconv.ParseFloat(d.text(), 64) // in range: decimals are below 10^38
	x, _ := Number(f)
	return x
}

// HashKey returns what a decimal has in common with all that is equal to it: the
// number that it is, or where it is none its digits.
func HashKey(m *Meter, v Value) (Value, string) {
	x := DecimalToNumber(m, v)
	if compareDecimals(m, v, x) == 0 {
		return x, ""
	}
	d := v.decimal()
	text := d.text()
	if d.scale > 0 {
		text = strings.TrimRight(text, "0")
	}
	return Null, text
}

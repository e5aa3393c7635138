package value

// FloatWork returns the fuel that reading a number takes that is no integer. Most
// are read at once. Those of more digits than 64 bits hold, and those that are
// nearly too small or too large, are read digit by digit: all of them again for
// each step of the exponent.
func FloatWork(s string) int {
	const (
		quick    = 6
		mostFast = 19  // digits
		extreme  = 300 // exponent
		mostRead = 800 // digits that package strconv keeps
	)
	digits, exponent, seen := 0, 0, false // seen: a digit other than 0
	point := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			seen = seen || c != '0'
			if seen {
				digits++
			}
			if !point && seen {
				exponent++
			} else if point && !seen {
				exponent--
			}
		case c == '.':
			point = true
		case c == 'e' || c == 'E':
			exponent += written(s[i+1:])
			i = len(s)
		}
	}
	if exponent < 0 {
		exponent = -exponent
	}
	if digits <= mostFast && exponent < extreme {
		return quick + len(s)/8
	}
	exponent = min(exponent, 1100)
	return quick + len(s)/8 + (exponent/16+1)*(min(digits, mostRead)+exponent)/4
}

// written reads an exponent, of which it needs to know no more than that it is
// large.
func written(s string) int {
	n, sign := 0, 1
	for i := range len(s) {
		switch c := s[i]; {
		case c == '-':
			sign = -1
		case c >= '0' && c <= '9' && n < 10_000:
			n = 10*n + int(c-'0')
		}
	}
	return sign * n
}

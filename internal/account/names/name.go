package names

import "errors"

// maxName is the longest name of a thing of an account.
const maxName = 64

// ErrName says what the name of a thing of an account looks like.
var ErrName = errors.New("a name has 1 to 64 letters, digits, _, - and dots, and starts with a letter or _")

// IsName takes the names that accounts give to their things: secrets, published programs, keys.
func IsName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '-' || c == '.')) {
			return false
		}
	}
	return true
}

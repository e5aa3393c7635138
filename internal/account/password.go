package account

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"ql/internal/password"
)

const (
	minPassword = 10 // characters
	// ownCharacters is how many characters of a password must be its own,
	// besides common words and names.
	ownCharacters = 6
	// commonWords is up to how many common words are weak together; a phrase
	// of more is strong whatever the words.
	commonWords = 2
	// distinctCharacters is how many different ones a password has at least.
	distinctCharacters = 4
	// shortestWord and shortestRow are what counts as a word, and as a piece of
	// a row of keys.
	shortestWord = 4
	shortestName = 3
	shortestRow  = 4
)

// commonText lists the words and names that most guessed passwords are made
// of, one on a line; digits and signs around them, doubling, and digits that
// stand for letters are rules, not lines.
//
//go:embed common.txt
var commonText string

var common = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(commonText) {
		set[word] = true
	}
	return set
})

// rows are what fingers run along.
var rows = func() []string {
	rows := []string{
		"abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm",
		"1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik", "qazwsxedcrfvtgbyhnujmik", "1q2w3e4r5t6y7u8i9o0p", "!@#$%^&*()",
	}
	for _, row := range slices.Clone(rows) {
		backwards := []byte(row)
		slices.Reverse(backwards)
		rows = append(rows, string(backwards))
	}
	return rows
}()

// leet undoes the digits and signs that stand for letters.
var leet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// CheckPassword says why a password may not be set for an account with these
// names (its username, e-mail address and phone number), or returns nil.
func CheckPassword(text string, names ...string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("the password is not valid UTF-8")
	}
	if n := utf8.RuneCountInString(text); n < minPassword {
		return fmt.Errorf("the password has %d characters: it needs at least %d", n, minPassword)
	}
	if len(text) > password.MaxLength {
		return password.ErrTooLong
	}
	folded := strings.ToLower(text)
	if countDistinct(folded) < distinctCharacters {
		return fmt.Errorf("the password repeats the same few characters")
	}
	own := ownNames(names)
	for _, variant := range []string{folded, leet.Replace(folded)} {
		variant = unrepeat(variant)
		words, rest, named := takeApart(variant, own)
		switch {
		case rest >= ownCharacters || words > commonWords:
		case named:
			return fmt.Errorf("the password is little more than the account's own name")
		default:
			return fmt.Errorf("the password is easily guessed: it is little more than common words, digits or keys in a row")
		}
	}
	return nil
}

func countDistinct(s string) int {
	runes := []rune(s)
	slices.Sort(runes)
	return len(slices.Compact(runes))
}

// ownNames are the texts that a password must not lean on.
func ownNames(names []string) map[string]bool {
	own := map[string]bool{}
	for _, name := range names {
		name = strings.ToLower(name)
		local, host, isEmail := strings.Cut(name, "@")
		parts := []string{name, strings.TrimPrefix(name, "+")}
		if isEmail {
			parts = append(parts, local)
			parts = append(parts, strings.Split(host, ".")...)
		}
		for _, part := range parts {
			if len(part) >= shortestName {
				own[part] = true
			}
		}
	}
	return own
}

// unrepeat returns the shortest text that s repeats.
func unrepeat(s string) string {
	for n := 1; n <= len(s)/2; n++ {
		if len(s)%n == 0 && strings.Repeat(s[:n], len(s)/n) == s {
			return s[:n]
		}
	}
	return s
}

// takeApart reads a text as common words, pieces of rows and the account's own
// names, always the longest next, and counts them and the characters between.
func takeApart(s string, own map[string]bool) (words, rest int, named bool) {
	for s != "" {
		if n := longestIn(own, s, shortestName); n > 0 {
			named = true
			words++
			s = s[n:]
			continue
		}
		if n := max(longestIn(common(), s, shortestWord), longestRow(s)); n > 0 {
			words++
			s = s[n:]
			continue
		}
		_, n := utf8.DecodeRuneInString(s)
		rest++
		s = s[n:]
	}
	return words, rest, named
}

func longestIn(set map[string]bool, s string, least int) int {
	for n := len(s); n >= least; n-- {
		if set[s[:n]] {
			return n
		}
	}
	return 0
}

func longestRow(s string) int {
	longest := 0
	for _, row := range rows {
		n := 0
		for n < len(s) && strings.Contains(row, s[:n+1]) {
			n++
		}
		longest = max(longest, n)
	}
	if longest < shortestRow {
		return 0
	}
	return longest
}

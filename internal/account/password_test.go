package account

import (
	"strings"
	"testing"
)

func TestCheckPassword(t *testing.T) {
	names := []string{"charlotte", "lotte@bakery.example", "+12025550143"}
	tests := []struct {
		password string
		want     string // a part of the message; "" is taken
	}{
		{"correct horse battery staple", ""},
		{"violetmouseclimbing", ""}, // three common words
		{"kZ8#mq2!vT", ""},
		{"пароль-из-слов", ""},
		{"Tr0ub4dor&3x", ""},
		{"password-vR7qxw2", ""},
		{"          x1y2z3", ""},
		{"8461 9275 30", ""},
		{strings.Repeat("é", 127) + "ab", "the same few characters"},
		{"xk2p9 wq7", "has 9 characters"},
		{"", "has 0 characters"},
		{"пароль", "has 6 characters"},
		{strings.Repeat("qx7 ", 65), "at most 256 bytes"},
		{"abcdefghi\xff", "UTF-8"},

		{"password123", "easily guessed"},
		{"Password123!", "easily guessed"},
		{"P@ssw0rd2024", "easily guessed"},
		{"passwordpassword", "easily guessed"},
		{"qwertyuiop", "easily guessed"},
		{"qwerty123456", "easily guessed"},
		{"1q2w3e4r5t6y", "easily guessed"},
		{"poiuytrewq", "easily guessed"},
		{"1234567890", "easily guessed"},
		{"0987654321", "easily guessed"},
		{"abcdefghij", "easily guessed"},
		{"iloveyou2024", "easily guessed"},
		{"SunshineDragon", "easily guessed"},
		{"letmein!!!!", "easily guessed"},
		{"abcdeabcde", "easily guessed"},
		{"xy7xy7xy7xy7xy7", "the same few characters"},
		{"aaaaaaaaaaaa", "the same few characters"},
		{"1212121212", "the same few characters"},

		{"charlotte1815", "own name"},
		{"CHARLOTTE!!", "own name"},
		{"ch4rl0tt3_1", "own name"},
		{"lotte@bakery.example", "own name"},
		{"lotte12345", "own name"},
		{"12025550143", "own name"},
		{"+12025550143", "own name"},
		{"bakery-lotte", "own name"},
		{"charlotte-vR7qxw2", ""},
	}
	for _, test := range tests {
		err := CheckPassword(test.password, names...)
		if test.want == "" && err != nil {
			t.Errorf("%q is refused: %v", test.password, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q: got %v, want a message with %q", test.password, err, test.want)
		}
		if err != nil && test.password != "" && strings.Contains(err.Error(), test.password) {
			t.Errorf("%q is told in its refusal: %v", test.password, err)
		}
	}
}

func TestCommonWordsAreFolded(t *testing.T) {
	for word := range common() {
		if strings.ToLower(word) != word || len(word) < shortestWord {
			t.Errorf("%q can never match", word)
		}
	}
	if n := len(common()); n < 1_000 {
		t.Errorf("the list has %d words", n)
	}
}

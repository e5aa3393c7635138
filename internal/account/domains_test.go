package account_test

import (
	"testing"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/hostname"
)

func TestMatchTakesTheClosest(t *testing.T) {
	entries := func(texts ...string) []account.Domain {
		var list []account.Domain
		for _, text := range texts {
			p, err := names.ParsePattern(text, false)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, account.Domain{Account: 1, Pattern: p})
		}
		return list
	}
	tests := []struct {
		origin  string
		entries []account.Domain
		want    string
	}{
		{"https://a.b.example.com", entries("*.example.com", "a.b.example.com", "*.b.example.com"), "https://a.b.example.com"},
		{"https://a.b.example.com", entries("a.b.example.com", "*.example.com", "*.b.example.com"), "https://a.b.example.com"},
		{"https://c.b.example.com", entries("*.example.com", "a.b.example.com", "*.b.example.com"), "https://*.b.example.com"},
		{"https://c.b.example.com", entries("*.b.example.com", "*.example.com"), "https://*.b.example.com"},
		{"https://c.example.com", entries("*.b.example.com", "*.example.com"), "https://*.example.com"},
		{"https://example.com", entries("*.b.example.com", "*.example.com"), ""},
		{"http://c.example.com", entries("*.example.com"), ""},
		{"http://c.example.com", nil, ""},
	}
	for _, test := range tests {
		o, err := hostname.ParseOrigin(test.origin)
		if err != nil {
			t.Fatal(err)
		}
		d, ok := account.Match(test.entries, o)
		if ok != (test.want != "") || ok && d.Pattern.String() != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.origin, d.Pattern, ok, test.want)
		}
	}
}

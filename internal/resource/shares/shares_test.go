package shares

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/lang/value"
)

// recorder is a store that only records what is to be made, and answers with an error.
type recorder struct {
	Store
	made    CreateParams
	revoked Hash
	err     error
}

func (k *recorder) Create(_ context.Context, n CreateParams) error {
	k.made = n
	return k.err
}

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func newShares(k *recorder) *Shares {
	return New(Options{
		Store: k, URL: "https://files.example.com", Clock: func() time.Time { return noon },
		Canonical: func(path string) (string, error) {
			if strings.Contains(path, "..") {
				return "", value.Errorf("invalid_path", "no")
			}
			return path, nil
		},
	})
}

func pointer[T any](v T) *T { return &v }

func TestShare(t *testing.T) {
	const day = 24 * time.Hour
	hour := Limits{MaxLifetime: time.Hour, Bounds: Bounds{File: 10, Bytes: 20, Links: 30}}
	for name, c := range map[string]struct {
		limits Limits
		share  engine.Share
		err    error // of the rows
		want   CreateParams
		code   string // of a refusal, with words of its message
	}{
		"as it comes":       {share: engine.Share{Path: "/a/b.txt"}, want: CreateParams{Path: "/a/b.txt", Name: "b.txt", Times: 1, Expires: noon.Add(day)}},
		"all said":          {share: engine.Share{Path: "/a", Times: pointer(int64(5)), For: pointer(7 * day), Name: pointer("june 1.pdf")}, want: CreateParams{Path: "/a", Name: "june 1.pdf", Times: 5, Expires: noon.Add(7 * day)}},
		"unlimited":         {share: engine.Share{Path: "/a", Unlimited: true, For: pointer(30 * day)}, want: CreateParams{Path: "/a", Name: "a", Expires: noon.Add(30 * day)}},
		"most times":        {share: engine.Share{Path: "/a", Times: pointer(int64(1000))}, want: CreateParams{Path: "/a", Name: "a", Times: 1000, Expires: noon.Add(day)}},
		"a short life":      {limits: hour, share: engine.Share{Path: "/a"}, want: CreateParams{Path: "/a", Name: "a", Times: 1, Expires: noon.Add(time.Hour), Bounds: hour.Bounds}},
		"too many times":    {share: engine.Share{Path: "/a", Times: pointer(int64(1001))}, code: "limit_exceeded: a link works 1000 times at most, and TIMES says 1001"},
		"no time":           {share: engine.Share{Path: "/a", Times: pointer(int64(0))}, code: "bad_argument: a link works at least once: TIMES 0"},
		"less than none":    {share: engine.Share{Path: "/a", Times: pointer(int64(-1))}, code: "bad_argument: a link works at least once"},
		"too long":          {share: engine.Share{Path: "/a", Unlimited: true, For: pointer(31 * day)}, code: "limit_exceeded: a link lives for 30 days at most, and FOR says 31 days"},
		"longer than a day": {limits: hour, share: engine.Share{Path: "/a", For: pointer(90 * time.Minute)}, code: "limit_exceeded: a link lives for 1 hour at most, and FOR says 90 minutes"},
		"no life":           {share: engine.Share{Path: "/a", For: pointer(time.Duration(0))}, code: "bad_argument: a link lives longer"},
		"no name":           {share: engine.Share{Path: "/a", Name: pointer(" ")}, code: "bad_argument: NAMED takes the name of a file"},
		"a name of dots":    {share: engine.Share{Path: "/a", Name: pointer("..")}, code: "bad_argument: NAMED takes the name of a file"},
		"a path as name":    {share: engine.Share{Path: "/a", Name: pointer("a/b")}, code: "bad_argument: the name"},
		"a line in a name":  {share: engine.Share{Path: "/a", Name: pointer("a\r\nSet-Cookie: b")}, code: "bad_argument: the name"},
		"a turned name":     {share: engine.Share{Path: "/a", Name: pointer("a\u202etxt.exe")}, code: "bad_argument: the name"},
		"an unseen name":    {share: engine.Share{Path: "/a", Name: pointer("\u3164")}, code: "bad_argument: the name"},
		"a long name":       {share: engine.Share{Path: "/a", Name: pointer(strings.Repeat("x", 256))}, code: "bad_argument: the name has 256 bytes"},
		"a bad path":        {share: engine.Share{Path: "/../a"}, code: "invalid_path: no"},
		"no file":           {share: engine.Share{Path: "/a"}, err: ErrNoFile, code: `file_not_found: there is no file "/a"`},
		"a folder":          {share: engine.Share{Path: "/a"}, err: ErrFolder, code: `is_folder: "/a" is a folder`},
		"all files":         {share: engine.Share{Path: "/"}, code: `is_folder: "/" is the folder of all files`},
		"too many links":    {limits: hour, share: engine.Share{Path: "/a"}, err: ErrLinks, code: "quota_exceeded: the account has 30 links"},
		"a large file":      {share: engine.Share{Path: "/a"}, err: &SizeError{Size: 11, Bound: 10}, code: `limit_exceeded: the file "/a" has 11 bytes, and may have 10`},
		"too much content":  {share: engine.Share{Path: "/a"}, err: &SizeError{Size: 21, Bound: 20, All: true}, code: "quota_exceeded: the files behind the account's links, and those that its jobs are in loops through, would have 21 bytes"},
	} {
		k := &recorder{err: c.err}
		links := newShares(k).For(7, c.limits)
		link := links.Link()
		err := links.Share(t.Context(), link, c.share)
		if c.code != "" {
			var known *value.Error
			if !errors.As(err, &known) || !strings.HasPrefix(known.Code+": "+known.Message, c.code) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		token, ok := tokenOf(link)
		if !ok || len(link) != len("https://files.example.com/files/")+43 {
			t.Errorf("%s: the link is %s", name, link)
		}
		c.want.Token, c.want.Account, c.want.Made = token, 7, noon
		if k.made != c.want {
			t.Errorf("%s: made %+v, want %+v", name, k.made, c.want)
		}
	}
}

// TestLinks: no two are alike, and each is found again, whatever address stood
// before it; other texts are none.
func TestLinks(t *testing.T) {
	links := newShares(&recorder{}).For(7, Limits{})
	seen := map[Hash]bool{}
	for range 10_000 {
		token, ok := tokenOf(links.Link())
		if !ok || seen[token] {
			t.Fatal("a link that is none, or comes twice")
		}
		seen[token] = true
	}
	good := strings.Repeat("A", 43)
	for text, want := range map[string]bool{
		"https://files.example.com/files/" + good:          true,
		"http://old.example.com/x/files/" + good:           true,
		"/files/" + good:                                   true,
		good:                                               false,
		"https://files.example.com/files/":                 false,
		"https://files.example.com/files/" + good + "=":    false,
		"https://files.example.com/files/" + good + "?a=b": false,
		"https://files.example.com/files/" + strings.Repeat("A", 42) + "B": false, // bits that mean nothing
		"https://files.example.com/files/" + strings.Repeat("A", 44):       false,
		"https://files.example.com/files/" + strings.Repeat("/", 43):       false,
		"": false,
	} {
		if _, ok := tokenOf(text); ok != want {
			t.Errorf("%s: %t", text, ok)
		}
	}
}

func (k *recorder) Revoke(_ context.Context, _ account.ID, token Hash, _ time.Time) error {
	k.revoked = token
	return k.err
}

func TestUnshare(t *testing.T) {
	k := &recorder{}
	links := newShares(k).For(7, Limits{})
	link := links.Link()
	if err := links.Unshare(t.Context(), link); err != nil {
		t.Fatal(err)
	}
	if token, _ := tokenOf(link); k.revoked != token {
		t.Error("another was taken back")
	}
	k.err = ErrNotFound
	for _, text := range []string{link, "x", strings.Repeat("x", 10_000)} {
		var known *value.Error
		if err := links.Unshare(t.Context(), text); !errors.As(err, &known) || known.Code != "file_not_found" || len(known.Message) > 500 {
			t.Errorf("%.50s: %v", text, err)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(newToken())
	f.Add("")
	f.Add(strings.Repeat("_", 43))
	f.Add(strings.Repeat("0", 13) + "\r" + strings.Repeat("0", 30))
	f.Fuzz(func(t *testing.T, text string) {
		if _, ok := ParseToken(text); ok && (len(text) != 43 || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "") {
			t.Errorf("%q is taken for a token", text)
		}
	})
}

func TestStates(t *testing.T) {
	s := Share{Times: 2, Used: 1, Expires: noon}
	for _, c := range []struct {
		change func(*Share)
		at     time.Time
		want   State
	}{
		{func(*Share) {}, noon.Add(-1), Open},
		{func(*Share) {}, noon, Expired},
		{func(s *Share) { s.Used = 2 }, noon.Add(-1), Used},
		{func(s *Share) { s.Used = 2 }, noon, Used},
		{func(s *Share) { s.Times, s.Used = 0, 99 }, noon.Add(-1), Open},
		{func(s *Share) { s.Used, s.Revoked = 2, noon }, noon, Revoked},
	} {
		one := s
		c.change(&one)
		if got := one.StateAt(c.at); got != c.want {
			t.Errorf("%+v at %s: %s, want %s", one, c.at, got, c.want)
		}
	}
}

package wire

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestTypesAreSafe: no ending leads to a type that is not handed out as such.
func TestTypesAreSafe(t *testing.T) {
	for ending, kind := range typesByEnding {
		if !safeTypes[kind] {
			t.Errorf("%s leads to %s", ending, kind)
		}
	}
	for name, want := range map[string]string{
		"a.csv": "text/csv", "A.CSV": "text/csv", "a.tar.gz": "application/gzip", "page.html": "application/octet-stream",
		"x.svg": "application/octet-stream", "x.js": "application/octet-stream", "x": "application/octet-stream", ".json": "application/json", "": "application/octet-stream",
	} {
		if got := MediaTypeOf(name); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
}

func TestReadRange(t *testing.T) {
	for _, test := range []struct {
		header   string
		size     int64
		from, to int64
		partly   bool
		none     bool
	}{
		{header: "bytes=0-0", size: 5, from: 0, to: 1, partly: true},
		{header: "bytes=1-3", size: 5, from: 1, to: 4, partly: true},
		{header: "bytes= 1-3 ", size: 5, from: 1, to: 4, partly: true},
		{header: "bytes=2-", size: 5, from: 2, to: 5, partly: true},
		{header: "bytes=-2", size: 5, from: 3, to: 5, partly: true},
		{header: "bytes=-9", size: 5, from: 0, to: 5, partly: true},
		{header: "bytes=4-9", size: 5, from: 4, to: 5, partly: true},
		{header: "bytes=5-", size: 5, none: true},
		{header: "bytes=-0", size: 5, none: true},
		{header: "bytes=0-", size: 0, none: true},
		{header: "bytes=-1", size: 0, none: true},
		{header: "", size: 5, to: 5},
		{header: "bytes", size: 5, to: 5},
		{header: "bytes=", size: 5, to: 5},
		{header: "bytes=-", size: 5, to: 5},
		{header: "bytes=3-1", size: 5, to: 5},
		{header: "bytes=--1", size: 5, to: 5},
		{header: "bytes=1-2,3-4", size: 5, to: 5},
		{header: "Bytes=1-2", size: 5, to: 5},
		{header: "bytes=0x1-2", size: 5, to: 5},
	} {
		p, partly, err := ParseRange(test.header, test.size)
		var refusal *Refusal
		if errors.As(err, &refusal) != test.none || !test.none && (p != ByteRange{test.from, test.to} || partly != test.partly) {
			t.Errorf("%q of %d: %v %t %v", test.header, test.size, p, partly, err)
		}
	}
	if got := (ByteRange{2, 5}).ContentRange(10); got != "bytes 2-4/10" {
		t.Errorf("the header %q", got)
	}
}

func FuzzReadRange(f *testing.F) {
	for _, header := range []string{"bytes=0-1", "bytes=-1", "bytes=1-", "bytes=1-2,3-4", "bytes=99999999999999999999-"} {
		f.Add(header, int64(10))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 {
			return
		}
		p, partly, err := ParseRange(header, size)
		if err == nil && (p.From < 0 || p.To > size || p.From > p.To || partly && p.From == p.To) {
			t.Errorf("%q of %d: %v", header, size, p)
		}
	})
}

func TestConditions(t *testing.T) {
	read := func(t *testing.T, headers map[string]string) *Conditions {
		t.Helper()
		c, err := ParseConditions(func(name string) string { return headers[name] })
		if err != nil {
			t.Fatal(err)
		}
		return &c
	}
	const match, none, unmodified = "If-Match", "If-None-Match", "If-Unmodified-Since"
	for _, test := range []struct {
		header, value string
		tag           string
		want          bool
	}{
		{"", "", "a", true}, {"", "", "", true},
		{match, `"a"`, "a", true}, {match, `"a"`, "b", false}, {match, `"a"`, "", false}, {match, `"b", "a"`, "a", true},
		{match, `W/"a"`, "a", false}, {match, "*", "a", true}, {match, "*", "", false}, {match, `""`, "", false},
		{none, `"a"`, "a", false}, {none, `W/"a"`, "a", false}, {none, `"a"`, "b", true}, {none, `"a"`, "", true},
		{none, "*", "a", false}, {none, "*", "", true}, {none, `""`, "", true},
	} {
		if got := read(t, map[string]string{test.header: test.value}).AllowsChange(test.tag, time.Time{}); got != test.want {
			t.Errorf("%s: %s of %q: %t", test.header, test.value, test.tag, got)
		}
	}
	when := time.Date(2026, 11, 15, 8, 30, 0, 999_000_000, time.UTC)
	for _, test := range []struct {
		headers map[string]string
		want    ReadOutcome
	}{
		{nil, ReadSend},
		{map[string]string{match: `"b"`}, ReadPreconditionFailed},
		{map[string]string{none: `"a"`}, ReadNotModified},
		{map[string]string{"If-Modified-Since": "Sun, 15 Nov 2026 08:30:00 GMT"}, ReadNotModified},
		{map[string]string{"If-Modified-Since": "Sun, 15 Nov 2026 08:29:59 GMT"}, ReadSend},
		{map[string]string{"If-Modified-Since": "Sun, 15 Nov 2026 08:30:00 GMT", none: `"b"`}, ReadSend},
		{map[string]string{match: `"a"`, none: `"a"`}, ReadNotModified},
		{map[string]string{"If-Modified-Since": "Sunday, 15-Nov-26 08:30:00 GMT"}, ReadNotModified},
		{map[string]string{"If-Modified-Since": "Sun Nov 15 08:30:00 2026"}, ReadNotModified},
		{map[string]string{"If-Modified-Since": "Sun Nov  1 08:30:00 2026"}, ReadSend},
		{map[string]string{"If-Modified-Since": "yesterday"}, ReadSend},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:30:00 GMT"}, ReadSend},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:29:59 GMT"}, ReadPreconditionFailed},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:29:59 GMT", match: `"a"`}, ReadSend},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:29:59 GMT", match: "*"}, ReadSend},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:30:00 GMT", match: `"b"`}, ReadPreconditionFailed},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:29:59 GMT", none: `"a"`}, ReadPreconditionFailed},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:30:00 GMT", none: `"a"`}, ReadNotModified},
	} {
		if got := read(t, test.headers).CheckRead("a", when); got != test.want {
			t.Errorf("%v: %d", test.headers, got)
		}
	}
	for _, test := range []struct {
		headers map[string]string
		tag     string
		want    bool
	}{
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:30:00 GMT"}, "a", true},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:29:59 GMT"}, "a", false},
		{map[string]string{unmodified: "Sun Nov  1 08:30:00 2026"}, "a", false},
		{map[string]string{unmodified: "Sunday, 15-Nov-26 08:29:59 GMT"}, "a", false},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:29:59 GMT"}, "", true}, // what is not there has no time
		{map[string]string{unmodified: "yesterday"}, "a", true},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:29:59 GMT", match: `"a"`}, "a", true},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:29:59 GMT", match: "*"}, "a", true},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:30:00 GMT", match: `"b"`}, "a", false},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:30:00 GMT", none: "*"}, "a", false},
		{map[string]string{unmodified: "Sun, 15 Nov 2026 08:29:59 GMT", none: `"b"`}, "a", false},
		{map[string]string{"If-Modified-Since": "Sun, 15 Nov 2026 08:30:00 GMT"}, "a", true}, // of reading alone
	} {
		written := when
		if test.tag == "" {
			written = time.Time{}
		}
		if got := read(t, test.headers).AllowsChange(test.tag, written); got != test.want {
			t.Errorf("%v of %q: %t", test.headers, test.tag, got)
		}
	}
	for _, bad := range []string{"a", `"a`, `a"`, `"a" "b"`, `"a",`, ",", "W/", "**", `*, "a"`} {
		_, err := ParseConditions(func(name string) string {
			if name == match {
				return bad
			}
			return ""
		})
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Field != match || !strings.Contains(refusal.Message, "fits") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

package service

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/wire"
)

// openPages seals nothing, and so lets tests reach what is inside.
type openPages struct{}

func (openPages) SealOutside(a account.ID, name string, plain []byte) []byte {
	return append([]byte{byte(a), byte(len(name))}, append([]byte(name), plain...)...)
}

func (openPages) OpenOutside(a account.ID, name string, sealed []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(sealed, openPages{}.SealOutside(a, name, nil))
	if !ok {
		return nil, errors.New("sealed otherwise")
	}
	return plain, nil
}

func carriedExample() *carriedPage {
	return &carriedPage{
		Job: job.NewID(), Program: [32]byte{1, 2}, Visitor: NewVisitor("a"), Expires: time.Date(2026, 11, 17, 20, 0, 0, 0, time.UTC), Path: "/site/a.ql", Ran: time.Second,
		Spec: execution.Spec{Request: wire.Request{Get: []wire.Field{{Name: "a", Value: "b"}}}, Session: "s"}, Step: 3, Message: "A?", Schema: []byte(`{}`),
		state: []byte("state"), output: []byte("<p>"), history: []byte("history"),
	}
}

// TestCarriedPage: a page comes back as it was handed out, for its question and its visitor alone.
func TestCarriedPage(t *testing.T) {
	s := &Service{o: Options{Pages: openPages{}}}
	p := carriedExample()
	token := pageToken{p.Job, p.Visitor, 2, "prompt"}
	text, err := s.sealCarried(7, p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.openCarried(7, token, text)
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, %v", got, err)
	}
	for what, wrong := range map[string]pageToken{"another job": {job.NewID(), p.Visitor, 2, "prompt"}, "another visitor": {p.Job, NewVisitor("b"), 2, "prompt"}} {
		if _, err := s.openCarried(7, wrong, text); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.openCarried(8, token, text); !fault.Is(err, fault.NotFound) {
		t.Errorf("another account: %v", err)
	}
	p.output = make([]byte, mostCarried)
	if text, err := s.sealCarried(7, p); text != "" || err != nil {
		t.Errorf("%d bytes are carried, %v", len(text), err)
	}

	asked := s.sealToken(7, token)
	if got, err := s.openToken(7, sealedAsked, p.Visitor, asked); err != nil || got != token {
		t.Errorf("%v, %v", got, err)
	}
	run := s.sealToken(7, pageToken{Job: p.Job, Visitor: p.Visitor})
	for what, open := range map[string]func() (pageToken, error){
		"a question as a run": func() (pageToken, error) { return s.openToken(7, sealedRun, p.Visitor, asked) },
		"a run as a question": func() (pageToken, error) { return s.openToken(7, sealedAsked, p.Visitor, run) },
		"another visitor's":   func() (pageToken, error) { return s.openToken(7, sealedRun, NewVisitor("b"), run) },
		"nobody's":            func() (pageToken, error) { return s.openToken(7, sealedRun, Visitor{}, run) },
		"a part":              func() (pageToken, error) { return s.openToken(7, sealedRun, p.Visitor, run[:20]) },
	} {
		if got, err := open(); !fault.Is(err, fault.NotFound) || got != (pageToken{}) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}

// FuzzDecodeCarried: whatever is decoded is what would be encoded, and nothing is read behind it.
func FuzzDecodeCarried(f *testing.F) {
	good, err := carriedExample().encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(append(bytes.Clone(good), 0))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{2, '{', '}', 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodeCarried(b)
		if err != nil {
			return
		}
		again, err := p.encode()
		if err != nil {
			return // it has a time that JSON reads and does not write
		}
		same, err := decodeCarried(again)
		if err != nil || !bytes.Equal(same.state, p.state) || !bytes.Equal(same.output, p.output) || !bytes.Equal(same.history, p.history) || same.Job != p.Job || same.Visitor != p.Visitor {
			t.Errorf("it would be carried otherwise: %v", err)
		}
	})
}

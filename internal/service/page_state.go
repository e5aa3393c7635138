package service

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/execution"
	"ql/internal/job"
)

// Pages is what seals that visitors of sites carry for their pages.
type Pages interface {
	SealOutside(a account.ID, name string, plain []byte) []byte
	OpenOutside(a account.ID, name string, sealed []byte) ([]byte, error)
}

// Visitor is a browser that visits a site, known by a cookie of its own: a hash of that.
type Visitor [16]byte

// NewVisitor returns the visitor of a cookie.
func NewVisitor(cookie string) Visitor {
	sum := sha256.Sum256([]byte("visitor of a site " + cookie))
	return Visitor(sum[:])
}

// The names under which what visitors carry is sealed: none opens as another.
const (
	sealedPage  = "page"
	sealedRun   = "page run"
	sealedAsked = "page question"
)

const (
	// mostCarried is how many bytes the state of a page has at most that its visitor carries: it
	// travels with the page, and back with the answer.
	mostCarried = 32 << 10
	// carriedTime is how long it is taken at most. Records of jobs, by which a second answer is
	// known, are kept for longer than that.
	carriedTime = 24 * time.Hour
)

// carriedPage is a page that stands at a question, and of which nothing is stored: its visitor
// carries it. Its job is the one that the first answer makes of it.
type carriedPage struct {
	Job     job.ID            `json:"job"`
	Program [sha256.Size]byte `json:"program"`
	Visitor Visitor           `json:"visitor"`
	Expires time.Time         `json:"expires"`
	Path    string            `json:"path"` // of its script
	Ran     time.Duration     `json:"ran"`
	Spec    execution.Spec    `json:"spec"`
	// Message and Schema are what is asked.
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema"`
	// Step is that of the first result in history.
	Step int64 `json:"step,omitempty"`

	state   []byte // as engine.EncodeState makes it
	output  []byte
	history []byte // a part of the job's history, not stored; nil for none
}

var errCarried = errors.New("what a visitor carries is no page")

// encode is the reverse of decodeCarried.
func (p *carriedPage) encode() ([]byte, error) {
	head, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(head)+len(p.state)+len(p.output)+len(p.history)+4*binary.MaxVarintLen32)
	for _, part := range [][]byte{head, p.state, p.output, p.history} {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	return b, nil
}

// decodeCarried reads a page that was encoded. It was sealed: what does not fit is a mistake of ours,
// or of another version.
func decodeCarried(b []byte) (*carriedPage, error) {
	p := new(carriedPage)
	var head []byte
	for _, part := range []*[]byte{&head, &p.state, &p.output, &p.history} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, errCarried
		}
		*part, b = b[size:size+int(n):size+int(n)], b[size+int(n):]
	}
	if len(b) > 0 || json.Unmarshal(head, p) != nil {
		return nil, errCarried
	}
	return p, nil
}

// pageToken names a run of a page for its visitor: what is asked, or the run itself where Prompt
// is "".
type pageToken struct {
	Job     job.ID
	Visitor Visitor
	Files   uint8 // how many files may come with the answer
	Prompt  string
}

// longestToken bounds what is decoded of an address.
const longestToken = 512

// sealToken makes an address of a token.
func (s *Service) sealToken(a account.ID, t pageToken) string {
	name := sealedRun
	if t.Prompt != "" {
		name = sealedAsked
	}
	plain := append(append(append(t.Job[:], t.Visitor[:]...), t.Files), t.Prompt...)
	return base64.RawURLEncoding.EncodeToString(s.o.Pages.SealOutside(a, name, plain))
}

// openToken reads a token that was made under a name, for its visitor alone: to others it is like one
// that was never made.
func (s *Service) openToken(a account.ID, name string, visitor Visitor, text string) (t pageToken, err error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(text) > longestToken {
		return t, ErrNoPage()
	}
	plain, err := s.o.Pages.OpenOutside(a, name, sealed)
	if err != nil || len(plain) <= len(t.Job)+len(t.Visitor) {
		return t, ErrNoPage()
	}
	n := copy(t.Job[:], plain)
	n += copy(t.Visitor[:], plain[n:])
	t.Files, t.Prompt = plain[n], string(plain[n+1:])
	if t.Visitor != visitor {
		return pageToken{}, ErrNoPage()
	}
	return t, nil
}

// sealCarried makes what a visitor carries; "" where that is too much.
func (s *Service) sealCarried(a account.ID, p *carriedPage) (string, error) {
	plain, err := p.encode()
	if err != nil || len(plain) > mostCarried {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.o.Pages.SealOutside(a, sealedPage, plain)), nil
}

// openCarried reads what a visitor carries for the question of a token.
func (s *Service) openCarried(a account.ID, t pageToken, text string) (*carriedPage, error) {
	if base64.RawURLEncoding.DecodedLen(len(text)) > 2*mostCarried {
		return nil, ErrNoPage()
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, ErrNoPage()
	}
	plain, err := s.o.Pages.OpenOutside(a, sealedPage, sealed)
	if err != nil {
		return nil, ErrNoPage()
	}
	p, err := decodeCarried(plain)
	if err != nil || p.Job != t.Job || p.Visitor != t.Visitor {
		return nil, ErrNoPage()
	}
	return p, nil
}

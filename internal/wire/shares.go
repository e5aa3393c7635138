package wire

import (
	"strconv"
	"time"
)

// ShareEntry is a link to a file in a list.
type ShareEntry struct {
	ID        string
	Path      string
	Name      string
	Size      int64
	Status    string
	Times     int // 0 for any number
	Used      int
	CreatedAt time.Time
	ExpiresAt time.Time
	RevokedAt time.Time // zero where it was not
	Receipts  []ShareReceipt
}

// ShareReceipt is a download in a list.
type ShareReceipt struct {
	At         time.Time
	Address    string
	Agent      string
	Restarts   int
	Sent       int64
	FinishedAt time.Time // zero where not all was sent
}

// AppendShares appends the answer that lists links. Next is where the following
// page begins, "" at the end.
func AppendShares(dst []byte, shares []ShareEntry, next string) []byte {
	dst = append(dst, `{"status":"ok","shares":[`...)
	for i := range shares {
		dst = appendShare(appendComma(dst), &shares[i])
	}
	return appendNext(dst, next)
}

func appendShare(dst []byte, s *ShareEntry) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendText(dst, s.ID)
	dst = appendTextField(dst, "path", s.Path)
	dst = appendTextField(dst, "name", s.Name)
	dst = strconv.AppendInt(appendName(dst, "size"), s.Size, 10)
	dst = appendTextField(dst, "status", s.Status)
	dst = appendName(dst, "times")
	if s.Times == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, int64(s.Times), 10)
	}
	dst = strconv.AppendInt(appendName(dst, "used"), int64(s.Used), 10)
	dst = appendTime(appendName(dst, "created_at"), s.CreatedAt)
	dst = appendTime(appendName(dst, "expires_at"), s.ExpiresAt)
	dst = appendOptionalTime(appendName(dst, "revoked_at"), s.RevokedAt)
	dst = append(appendName(dst, "receipts"), '[')
	for i := range s.Receipts {
		dst = appendReceipt(appendComma(dst), &s.Receipts[i])
	}
	return append(dst, `]}`...)
}

func appendReceipt(dst []byte, r *ShareReceipt) []byte {
	dst = append(dst, `{"at":`...)
	dst = appendTime(dst, r.At)
	dst = appendTextField(dst, "address", r.Address)
	dst = appendTextField(dst, "agent", r.Agent)
	dst = strconv.AppendInt(appendName(dst, "restarts"), int64(r.Restarts), 10)
	dst = strconv.AppendInt(appendName(dst, "sent"), r.Sent, 10)
	dst = appendOptionalTime(appendName(dst, "finished_at"), r.FinishedAt)
	return append(dst, '}')
}

func appendOptionalTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, "null"...)
	}
	return appendTime(dst, t)
}

// AppendRevoked appends the answer to taking a link back.
func AppendRevoked(dst []byte, id string) []byte {
	dst = append(dst, `{"status":"ok","id":`...)
	dst = appendText(dst, id)
	return append(dst, '}')
}

// NewShare is a request of POST /v1/shares.
type NewShare struct {
	Path      string
	Times     int    // that it may be used; 0 for any number
	ExpiresIn int64  // seconds; 0 where it was left out
	Name      string // "" where it was left out
}

// What a link may be.
const (
	mostTimes        = 1000
	mostShareSeconds = 30 * 24 * 60 * 60
)

var newShareFields = []string{"path", "times", "expires_in", "name"}

// DecodeNewShare reads the body of POST /v1/shares. The error is a *Refusal.
func DecodeNewShare(body []byte, l Limits) (*NewShare, error) {
	s := &NewShare{Times: 1}
	if err := decodeObject(body, l, s.decode); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *NewShare) decode(top node) *Refusal {
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "path":
			s.Path, r = filledText("path", value)
		case "times":
			if value.kind() == "null" {
				s.Times = 0
			} else {
				s.Times, r = number("times", value, mostTimes)
			}
		case "expires_in":
			var seconds int
			seconds, r = number("expires_in", value, mostShareSeconds)
			s.ExpiresIn = int64(seconds)
		case "name":
			s.Name, r = filledText("name", value)
		default:
			r = unknown(bodyField, name, newShareFields)
		}
		if r != nil {
			return r
		}
	}
	if s.Path == "" {
		return invalid("path", "is missing: that of a file, a text, fits")
	}
	return nil
}

// NewPreview is a request of POST /v1/previews.
type NewPreview struct {
	Path     string
	Download bool // the file is downloaded, and not shown
}

// DecodeNewPreview reads the body of POST /v1/previews. The error is a *Refusal.
func DecodeNewPreview(body []byte, l Limits) (*NewPreview, error) {
	n := new(NewPreview)
	err := decodeFields(body, l, []string{"path", "download"}, func(name string, value node) (r *Refusal) {
		if name == "path" {
			n.Path, r = filledText(name, value)
			return r
		}
		var yes *bool
		if yes, r = boolean(name, value); r == nil {
			n.Download = *yes
		}
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case n.Path == "":
		return nil, invalid("path", "is missing: that of a file, a text, fits")
	}
	return n, nil
}

// AppendPreview appends the answer of POST /v1/previews.
func AppendPreview(dst []byte, url string) []byte {
	dst = append(dst, `{"status":"ok","url":`...)
	dst = appendText(dst, url)
	return append(dst, '}')
}

// AppendCreatedShare appends the answer of POST /v1/shares, the one place where a link is shown.
func AppendCreatedShare(dst []byte, s *ShareEntry, url string) []byte {
	dst = append(dst, `{"status":"ok","url":`...)
	dst = appendText(dst, url)
	dst = appendShare(appendName(dst, "share"), s)
	return append(dst, '}')
}

package wire

import (
	"encoding/hex"
	"strconv"
	"time"
)

// Digest is the SHA-256 of a content.
type Digest [32]byte

// ParseDigest reads 64 hexadecimal digits, as addresses and manifests have them. The error is a
// *Refusal.
func ParseDigest(field, text string) (d Digest, err error) {
	if len(text) != hex.EncodedLen(len(d)) {
		return d, noDigest(field, text)
	}
	if _, err := hex.Decode(d[:], []byte(text)); err != nil {
		return d, noDigest(field, text)
	}
	return d, nil
}

func noDigest(field, text string) *Refusal {
	return invalid(field, "is "+quote(text)+": a SHA-256 in 64 hexadecimal digits fits")
}

// MaxManifest is how many files a manifest of a site names.
const MaxManifest = 2_000

// SiteManifest is a request that says what a site is to have: contents by paths.
type SiteManifest struct {
	Files map[string]Digest
}

// DecodeSiteManifest reads the body of POST /v1/sites/main/plan and of PUT /v1/sites/main. The
// error is a *Refusal.
func DecodeSiteManifest(body []byte, l Limits) (*SiteManifest, error) {
	l = l.withDefaults()
	// Its one object is the list of files, whatever the plan says of objects.
	l.Keys, l.Nodes = MaxManifest+1, 2*MaxManifest+16
	var shape Shape
	top, r := document(body, &l, &shape)
	m := new(SiteManifest)
	if r == nil {
		r = m.decode(top)
	}
	if r != nil {
		return nil, r.withoutPlanLimit()
	}
	return m, nil
}

func (m *SiteManifest) decode(top node) *Refusal {
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		if name != "files" {
			return unknown(bodyField, name, []string{"files"})
		}
		if r := want("files", value, '{'); r != nil {
			return r
		}
		m.Files = map[string]Digest{}
		files := value.inside()
		for path, digest, ok := files.member(); ok; path, digest, ok = files.member() {
			field := "files[" + quote(path) + "]"
			hex, r := text(field, digest)
			if r != nil {
				return r
			}
			d, err := ParseDigest(field, hex)
			if err != nil {
				return noDigest(field, hex)
			}
			m.Files[path] = d
		}
	}
	switch {
	case m.Files == nil:
		return invalid("files", `is missing: an object such as {"index.ql": "…"}, with the SHA-256 of each file, fits`)
	case len(m.Files) > MaxManifest:
		return invalid("files", "names "+strconv.Itoa(len(m.Files))+" files: "+strconv.Itoa(MaxManifest)+" is the most")
	}
	return nil
}

// SitePlan is how a site differs from a manifest.
type SitePlan struct {
	Release                 int64 // the current one, 0 for none
	Missing                 []Digest
	Added, Changed, Removed []string
}

// AppendJSON appends the answer of POST /v1/sites/main/plan.
func (p *SitePlan) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"status":"ok"`...)
	dst = appendNumberOrNull(dst, "release", p.Release)
	dst = append(appendName(dst, "missing"), '[')
	for _, d := range p.Missing {
		dst = append(appendComma(dst), '"')
		dst = hex.AppendEncode(dst, d[:])
		dst = append(dst, '"')
	}
	dst = append(dst, ']')
	for _, list := range []struct {
		name  string
		paths []string
	}{{"added", p.Added}, {"changed", p.Changed}, {"removed", p.Removed}} {
		dst = append(appendName(dst, list.name), '[')
		for _, path := range list.paths {
			dst = appendText(appendComma(dst), path)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendNumberOrNull appends a field that is null for 0.
func appendNumberOrNull(dst []byte, name string, n int64) []byte {
	dst = appendName(dst, name)
	if n == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, n, 10)
}

// SiteRelease is a release of a site; the zero one is none.
type SiteRelease struct {
	Number   int64
	MadeAt   time.Time
	By       string // the credential by which it was made
	Key      string // the name of the named key, "" for none
	Restored int64  // the release that it brought back, 0 for none
	Files    int64
	Bytes    int64
}

func appendRelease(dst []byte, r *SiteRelease) []byte {
	dst = append(dst, `{"number":`...)
	dst = strconv.AppendInt(dst, r.Number, 10)
	dst = appendTime(appendName(dst, "made_at"), r.MadeAt)
	dst = appendTextField(dst, "by", r.By)
	dst = appendTextOrNull(dst, "key", r.Key)
	dst = appendNumberOrNull(dst, "restored", r.Restored)
	dst = strconv.AppendInt(appendName(dst, "files"), r.Files, 10)
	dst = strconv.AppendInt(appendName(dst, "bytes"), r.Bytes, 10)
	return append(dst, '}')
}

// AppendSite appends the answer that shows the current release of a site, null for none.
func AppendSite(dst []byte, r *SiteRelease) []byte {
	dst = append(dst, `{"status":"ok","release":`...)
	if r.Number == 0 {
		return append(dst, "null}"...)
	}
	return append(appendRelease(dst, r), '}')
}

// AppendReleases appends the answer of GET /v1/sites/main/releases. Next is where the following page
// begins, "" at the end.
func AppendReleases(dst []byte, releases []SiteRelease, next string) []byte {
	dst = append(dst, `{"status":"ok","releases":[`...)
	for i := range releases {
		dst = appendRelease(appendComma(dst), &releases[i])
	}
	return appendNext(dst, next)
}

// AppendSiteContent appends the answer of PUT /v1/sites/main/content/{id}.
func AppendSiteContent(dst []byte, d Digest) []byte {
	dst = append(dst, `{"status":"ok","sha256":"`...)
	return append(hex.AppendEncode(dst, d[:]), `"}`...)
}

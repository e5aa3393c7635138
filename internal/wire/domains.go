package wire

import "time"

// DomainEntry is a domain in an account's list of them.
type DomainEntry struct {
	ID            string
	Domain        string
	PublishedOnly bool
	Proven        bool
	AddedAt       time.Time
	Proof         *DomainProof // nil for one that is proved
}

// DomainProof is how a domain is proved.
type DomainProof struct {
	Record string // the name of a TXT record
	URL    string // of a file
	Value  string // of either
}

// NewDomain is a request of POST /v1/domains.
type NewDomain struct {
	Domain        string
	PublishedOnly bool
}

// DecodeNewDomain reads the body of POST /v1/domains. The error is a *Refusal.
func DecodeNewDomain(body []byte, l Limits) (*NewDomain, error) {
	n, hasDomain := new(NewDomain), false
	err := decodeFields(body, l, []string{"domain", "published_only"}, func(name string, value node) (r *Refusal) {
		if name == "domain" {
			hasDomain = true
			n.Domain, r = text(name, value)
			return r
		}
		only, r := boolean(name, value)
		if r == nil {
			n.PublishedOnly = *only
		}
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case !hasDomain:
		return nil, invalid("domain", "is missing: a domain such as shop.example.com, a text, fits")
	}
	return n, nil
}

// AppendDomains appends the answer of GET /v1/domains.
func AppendDomains(dst []byte, domains []DomainEntry) []byte {
	dst = append(dst, `{"status":"ok","domains":[`...)
	for i := range domains {
		dst = append(appendComma(dst), '{')
		dst = appendDomain(dst, &domains[i])
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// AppendDomain appends the answer about one domain.
func AppendDomain(dst []byte, d *DomainEntry) []byte {
	dst = append(dst, `{"status":"ok",`...)
	dst = appendDomain(dst, d)
	return append(dst, '}')
}

func appendDomain(dst []byte, d *DomainEntry) []byte {
	dst = append(dst, `"id":`...)
	dst = appendText(dst, d.ID)
	dst = appendTextField(dst, "domain", d.Domain)
	dst = appendBool(dst, "published_only", d.PublishedOnly)
	dst = appendBool(dst, "proven", d.Proven)
	dst = appendTime(appendName(dst, "added_at"), d.AddedAt)
	dst = appendName(dst, "proof")
	if d.Proof == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"txt_record":`...)
	dst = appendText(dst, d.Proof.Record)
	dst = appendTextField(dst, "file_url", d.Proof.URL)
	dst = appendTextField(dst, "value", d.Proof.Value)
	return append(dst, '}')
}

package wire

import "time"

// SiteDomainEntry is a domain of an account's site.
type SiteDomainEntry struct {
	Domain string
	Record string // the name of the TXT record that proves it
	Value  string // of the record
	State  string
	// Zero where they are not so.
	AddedAt, ProvenAt, CheckedAt, MissingSince time.Time
}

// DecodeSiteDomain reads the body of POST /v1/sites/main/domains. The error is a *Refusal.
func DecodeSiteDomain(body []byte, l Limits) (*string, error) {
	var domain *string
	err := decodeFields(body, l, []string{"domain"}, func(name string, value node) *Refusal {
		read, r := text(name, value)
		domain = &read
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case domain == nil:
		return nil, invalid("domain", "is missing: a domain such as shop.example.com, a text, fits")
	}
	return domain, nil
}

// AppendSiteDomains appends the answer of GET /v1/sites/main/domains.
func AppendSiteDomains(dst []byte, domains []SiteDomainEntry) []byte {
	dst = append(dst, `{"status":"ok","domains":[`...)
	for i := range domains {
		dst = append(appendComma(dst), '{')
		dst = appendSiteDomain(dst, &domains[i])
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// AppendSiteDomain appends the answer about one domain of a site.
func AppendSiteDomain(dst []byte, d *SiteDomainEntry) []byte {
	dst = append(dst, `{"status":"ok",`...)
	dst = appendSiteDomain(dst, d)
	return append(dst, '}')
}

func appendSiteDomain(dst []byte, d *SiteDomainEntry) []byte {
	dst = append(dst, `"domain":`...)
	dst = appendText(dst, d.Domain)
	dst = appendTextField(dst, "record", d.Record)
	dst = appendTextField(dst, "value", d.Value)
	dst = appendTextField(dst, "state", d.State)
	dst = appendTime(appendName(dst, "added_at"), d.AddedAt)
	dst = appendOptionalTime(appendName(dst, "proven_at"), d.ProvenAt)
	dst = appendOptionalTime(appendName(dst, "checked_at"), d.CheckedAt)
	return appendOptionalTime(appendName(dst, "missing_since"), d.MissingSince)
}

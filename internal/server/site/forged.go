package site

import (
	"net/http"

	"ql/internal/hostname"
	"ql/internal/server"
)

// isForged tells whether a page of another origin has a browser send a request that may change
// something: the visitor's cookies come with it, and the site would take it for theirs. Whoever is
// no browser sends neither header.
func isForged(r *server.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	if from := r.HeaderValue("Sec-Fetch-Site"); from != "" {
		return from != "same-origin" && from != "none"
	}
	origin := r.HeaderValue("Origin")
	if origin == "" {
		return false
	}
	from, err := hostname.ParseOrigin(origin)
	if err != nil {
		return true
	}
	here, err := hostname.ParseOrigin(from.Scheme + "://" + r.Host)
	return err != nil || from != here
}

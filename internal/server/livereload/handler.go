package livereload

import (
	"context"
	_ "embed"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"
)

// Where a page finds the script, and is told of changes. No file of a site is at such an address.
const (
	scriptPath = "/_ql/dev/reload.js"
	eventsPath = "/_ql/dev/changes"
)

//go:embed reload.js
var script string

// Handler returns next with pages that load themselves again.
func (l *Live) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case scriptPath:
			l.own(w, r, "text/javascript; charset=utf-8", func() { _, _ = io.WriteString(w, script) })
		case eventsPath:
			l.own(w, r, "text/event-stream", func() { l.tell(w, r) })
		default:
			l.serve(next, w, r)
		}
	})
}

// own answers at an address of this package.
func (l *Live) own(w http.ResponseWriter, r *http.Request, kind string, answer func()) {
	switch from := r.Header.Get("Sec-Fetch-Site"); {
	case !l.Knows(r.Host):
		http.Error(w, "there is no site of this name here", http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet:
		http.Error(w, "this address can be loaded and nothing else", http.StatusMethodNotAllowed)
	case from != "" && from != "same-origin":
		http.Error(w, "a page of another site sent this", http.StatusForbidden)
	default:
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		answer()
	}
}

const (
	// writeTime is how long a page may take that does not read what it is told.
	writeTime = 10 * time.Second
	// pulse is how often something is sent, so that a page that is gone is found out.
	pulse = 15 * time.Second
)

// tell tells a page when it is to load itself again.
func (l *Live) tell(w http.ResponseWriter, r *http.Request) {
	told, leave := l.listen(r.URL.Query().Get("page"))
	if told == nil {
		http.Error(w, "too many pages listen for changes: close some", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTime))
		_, err := io.WriteString(w, text)
		return err == nil && control.Flush() == nil
	}
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	for text := "retry: 500\n\n"; send(text); text = ":\n\n" {
		select {
		case <-told:
			send("event: change\ndata:\n\n")
			return
		case <-beat.C:
		case <-r.Context().Done():
			return
		case <-l.closed:
			return
		}
	}
}

// serve answers by next, and notes what that looks at.
func (l *Live) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	made := l.begin()
	out := &writer{ResponseWriter: w, live: l, page: made, r: r}
	from := ""
	if r.Method == http.MethodGet && !isLookedAt(r) {
		from = addressOf(r.Header.Get("Referer"))
	}
	defer l.end(made, r.URL.RequestURI(), from)
	r = r.Clone(context.WithValue(r.Context(), contextKey{}, made))
	// What is sent is sent whole and as it is, since it may be added to; and it is looked at each time.
	for _, name := range []string{"Accept-Encoding", "If-None-Match", "If-Modified-Since"} {
		r.Header.Del(name)
	}
	next.ServeHTTP(out, r)
	out.finish()
}

// writer writes an answer, and adds the script to one that is a page.
type writer struct {
	http.ResponseWriter
	live  *Live
	page  *page
	r     *http.Request
	began bool
	shows bool // it is a page
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if !w.began && status >= http.StatusOK {
		w.began = true
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		if w.isPage(status) {
			w.shows = true
			h.Del("Content-Length")
			h.Del("Etag")
			w.live.show(w.page, w.r.URL.RequestURI())
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// isPage tells whether an answer is a page that somebody looks at. That of a form is none: loading
// it again would send the form again.
func (w *writer) isPage(status int) bool {
	kind, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
	return kind == "text/html" && w.r.Method == http.MethodGet && w.Header().Get("Content-Encoding") == "" &&
		(status == http.StatusOK || status >= http.StatusBadRequest) &&
		(w.r.Header.Get("Sec-Fetch-Dest") == "" || isLookedAt(w.r))
}

// isLookedAt tells whether a request is for a page of its own, and not for a part of another.
func isLookedAt(r *http.Request) bool {
	return slices.Contains([]string{"document", "iframe", "frame"}, r.Header.Get("Sec-Fetch-Dest"))
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	if !w.began {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// finish adds the script behind a page, where browsers take it for a part of its body.
func (w *writer) finish() {
	if w.shows {
		_, _ = io.WriteString(w.ResponseWriter, "\n<script src=\""+scriptPath+"?page="+w.page.id+"\"></script>\n")
	}
}

// Package dashboard serves the pages on which an account's owner works: one shell for all of them, which
// names the script and the stylesheet that were built of the folder web. What the pages show comes by the
// public API; no page knows more than its caller.
package dashboard

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strings"

	"ql/internal/fault"
	"ql/internal/hostname"
	"ql/internal/server"
	"ql/internal/wire"
)

// Options are what the pages depend on.
type Options struct {
	// Dev says that whoever opens a page on this machine is signed in without being asked.
	Dev bool
	// SignUp says who makes an account for themselves: "closed" for nobody, "invite" for who was invited, "open".
	SignUp string
	// Own and Files are the addresses of the service and of the files that it hands out. Where those have
	// a host of their own, there are no pages at it: what it serves is somebody else's.
	Own, Files string
}

// prefix is what the addresses of pages begin with.
const prefix = "/app/"

// Routes returns the routes of the pages and of what they are made of.
func Routes(o Options) []server.Route {
	p := newPages(o)
	encodeError := server.EncodeErrorJSON
	return []server.Route{
		{Method: server.AnyMethod, Path: "/", Public: true, Serve: p.lead, EncodeError: encodeError},
		{Method: http.MethodGet, Path: "/app", Public: true, Serve: p.lead, EncodeError: encodeError},
		{Method: http.MethodGet, Path: prefix + "preview", Public: true, Serve: p.output, EncodeError: encodeError},
		{Method: http.MethodGet, Path: assetPrefix + "{name}", Public: true, Serve: p.asset, EncodeError: encodeError},
		{Method: http.MethodGet, Path: prefix + "{path}", Public: true, Serve: p.show, EncodeError: encodeError},
	}
}

type pages struct {
	dev    bool
	signUp string
	// frames are the origins of what a page shows inside itself.
	frames string
	// fileHost is one at which there are no pages; "" for none.
	fileHost string
}

func newPages(o Options) *pages {
	p := &pages{dev: o.Dev, signUp: o.SignUp, frames: "'self'"}
	own, ownErr := hostname.OriginOf(o.Own)
	files, filesErr := hostname.OriginOf(o.Files)
	if filesErr != nil {
		return p
	}
	p.frames += " " + files.String()
	if ownErr == nil && own.Host != files.Host {
		p.fileHost = files.Host
	}
	return p
}

// nothing is the answer to programs at addresses without a page.
func nothing() (server.Response, error) {
	return server.RejectBeforeAuth(fault.New(fault.NotFound,
		"there is nothing at this address: POST /v1/query and POST /api run scripts, and GET /openapi.json tells of the rest"))
}

// isElsewhere tells whether a request is for the host of files.
func (p *pages) isElsewhere(r *server.Request) bool {
	if p.fileHost == "" {
		return false
	}
	called, _, err := hostname.ParseHostPort(r.Host)
	files, _, filesErr := hostname.ParseHostPort(p.fileHost)
	return err != nil || filesErr != nil || called == files
}

// lead sends browsers on to the pages. Programs find nothing, as ever.
func (p *pages) lead(h http.Header, r *server.Request) (server.Response, error) {
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	if p.isElsewhere(r) || !isRead || !strings.Contains(r.HeaderValue("Accept"), "text/html") {
		return nothing()
	}
	wire.SetPage(h, r.Setting(""), "")
	h.Set("Vary", "Accept")
	h.Set("Location", prefix)
	return server.Response{Status: http.StatusSeeOther}, nil
}

//go:embed shell.html
var shellText string

var shell = template.Must(template.New("shell").Parse(shellText))

// show answers with the shell, which finds by its address what to show.
func (p *pages) show(h http.Header, r *server.Request) (server.Response, error) {
	if p.isElsewhere(r) {
		return nothing()
	}
	nonce := wire.NewNonce()
	var page bytes.Buffer
	if err := shell.Execute(&page, struct {
		entry
		Nonce  string
		Dev    bool
		SignUp string
	}{start, nonce, p.dev, p.signUp}); err != nil {
		return server.Response{}, err
	}
	wire.SetDashboard(h, r.Setting(""), nonce, p.frames)
	return server.Response{Status: http.StatusOK, Body: page.Bytes()}, nil
}

//go:embed output.html
var outputText string

var outputPage = template.Must(template.New("output").Parse(outputText))

// output answers with the document in which the editor shows what a script has put out as a page: it takes the
// text from the page around it, once, and no script of the text runs.
func (p *pages) output(h http.Header, r *server.Request) (server.Response, error) {
	if p.isElsewhere(r) {
		return nothing()
	}
	nonce := wire.NewNonce()
	var page bytes.Buffer
	if err := outputPage.Execute(&page, nonce); err != nil {
		return server.Response{}, err
	}
	wire.SetOutputPage(h, r.Setting(""), nonce)
	return server.Response{Status: http.StatusOK, Body: page.Bytes()}, nil
}

// Package asset serves what the pages for people share: their stylesheet and their script. Each is
// known by a name with a hash of its content, so browsers keep it for good. What stands on the pages
// is the business of the packages that make them.
package asset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/wire"
)

//go:embed page.css
var pageCSS []byte

//go:embed form.js
var formJS []byte

// file is an asset as it is sent.
type file struct {
	mediaType     string
	plain, packed []byte
}

var (
	files = map[string]file{}

	// Stylesheet is the address of the stylesheet of all pages, and FormScript that of the script
	// that makes forms more convenient.
	Stylesheet = add("page", ".css", "text/css; charset=utf-8", pageCSS)
	FormScript = add("form", ".js", "text/javascript; charset=utf-8", formJS)
)

// prefix is what the addresses of assets start with.
const prefix = "/assets/"

// add makes an asset, and returns its address.
func add(name, extension, mediaType string, content []byte) string {
	sum := sha256.Sum256(content)
	name += "-" + hex.EncodeToString(sum[:8]) + extension
	files[name] = file{mediaType, content, pack(content)}
	return prefix + name
}

func pack(content []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // the level is known, and a buffer takes all
	}
	return b.Bytes()
}

// Routes returns the route of all assets.
func Routes() []server.Route {
	return []server.Route{{Method: http.MethodGet, Path: prefix + "{name}", Public: true, Serve: serve, EncodeError: server.EncodeErrorJSON}}
}

func serve(h http.Header, r *server.Request) (server.Response, error) {
	f, ok := files[r.Variable]
	if !ok {
		return server.Response{}, fault.New(fault.NotFound, "there is no such asset: load the page again that names it")
	}
	body := f.plain
	wire.SetAsset(h, r.Setting(""), f.mediaType)
	if r.TakesGzip() {
		h.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	return server.Response{Status: http.StatusOK, Body: body}, nil
}

package jsonapi

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// filesPath is where the account's files begin.
const filesPath = "/v1/files/"

// fileRoutes are those of an account's files.
func (c codec) fileRoutes() []server.Route {
	route := func(method string, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{
			Method: method, Path: filesPath + "{path}", Accepts: passwordOrNamed, Pages: true,
			Timeout: service.LongestTransfer, Serve: serve, EncodeError: encodeError,
		}
	}
	return []server.Route{
		route(http.MethodGet, c.file),
		route(http.MethodPut, c.storeFile),
		route(http.MethodPost, c.changeFile),
		route(http.MethodDelete, c.removeFile),
	}
}

// filePath returns the path in a request's address, decoded once. An encoded slash separates parts
// like any other: a generated client encodes all of what it takes for one part of an address, and
// no name holds a slash that could be meant instead. What a path may hold is checked after this.
func filePath(r *server.Request) (string, error) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), filesPath)
	if !ok {
		return "", fault.New(fault.NotFound, "there is nothing at this address")
	}
	path, err := url.PathUnescape(rest)
	if err != nil {
		return "", fault.New(fault.InvalidPath, "the path in the address cannot be used: it is not percent-encoded")
	}
	return "/" + path, nil
}

// fileCall is what every call about a file brings.
type fileCall struct {
	credentials *service.Credentials
	path        string
	query       url.Values
	conditions  wire.Conditions
}

func readFileCall(r *server.Request, known ...string) (f fileCall, err error) {
	if f.credentials, err = headerCredentials(r); err != nil {
		return f, err
	}
	if f.path, err = filePath(r); err != nil {
		return f, err
	}
	if f.query, err = parameters(r, known...); err != nil {
		return f, err
	}
	f.conditions, err = wire.ParseConditions(r.HeaderValue)
	return f, err
}

// The number of files on a page of a list.
const (
	usualFiles = 1000
	mostFiles  = 10_000
)

func (c codec) file(h http.Header, r *server.Request) (server.Response, error) {
	call, err := readFileCall(r, "limit", "after")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	page := service.FolderPage{Limit: usualFiles, After: call.query.Get("after")}
	if call.query.Has("limit") {
		if page.Limit, err = strconv.Atoi(call.query.Get("limit")); err != nil || page.Limit < 1 || page.Limit > mostFiles {
			return server.RejectBeforeAuth(fault.Invalid("limit", "is no number of files: 1 to %d fits", mostFiles))
		}
	}
	found, err := c.service.File(r.Context(), r.Caller, call.credentials, call.path, page)
	reply := server.Response{Status: http.StatusOK, Meta: found.Meta}
	if err != nil {
		return reply, err
	}
	if found.Content != nil {
		setting := r.Setting(found.Origin)
		return server.SendFile(h, r, &call.conditions, &found, reply, func(size int64) {
			wire.SetDownload(h, setting, wire.File{Name: found.Name, Type: wire.MediaTypeOf(found.Name), Size: size})
		})
	}
	defer found.Close()
	wire.SetJSON(h, r.Setting(found.Origin))
	reply.Body = wire.AppendFiles(nil, found.Files, found.Next)
	return reply, nil
}

func (c codec) storeFile(h http.Header, r *server.Request) (server.Response, error) {
	call, err := readFileCall(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if r.HeaderValue("Content-Range") != "" {
		return server.RejectBeforeAuth(fault.Invalid("Content-Range", "does not fit: a file is sent whole"))
	}
	stored, err := c.service.StoreFile(r.Context(), r.Caller, call.credentials, service.Upload{
		Path: call.path, Size: r.ContentLength, If: call.conditions.AllowsChange,
		Body: func() (io.Reader, error) { return r.BodyStream(service.LongestTransfer) },
	})
	reply := server.Response{Status: http.StatusOK, Meta: stored.Meta}
	if err != nil {
		return reply, err
	}
	if stored.Created {
		reply.Status = http.StatusCreated
	}
	wire.SetJSON(h, r.Setting(stored.Origin))
	etag := wire.ETag(stored.Tag)
	h.Set("Etag", etag)
	reply.Body = wire.AppendStored(nil, call.path, stored.Size, etag)
	return reply, nil
}

func (c codec) removeFile(h http.Header, r *server.Request) (server.Response, error) {
	call, err := readFileCall(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	answer, err := c.service.RemoveFile(r.Context(), r.Caller, call.credentials, call.path, call.conditions.AllowsChange)
	reply := server.Response{Status: http.StatusOK, Meta: answer}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(answer.Origin))
	reply.Body = wire.AppendRemoved(nil, call.path)
	return reply, nil
}

// mostChangeBytes is how long the description of a change may be.
const mostChangeBytes = 16 << 10

func (c codec) changeFile(h http.Header, r *server.Request) (server.Response, error) {
	call, err := readFileCall(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	body, limits, err := smallBody(r, c.service.LargestRequest(), mostChangeBytes)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	change, err := wire.DecodeFileChange(body, limits)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	changed, err := c.service.ChangeFile(r.Context(), r.Caller, call.credentials, call.path, *change, call.conditions.AllowsChange)
	reply := server.Response{Status: http.StatusOK, Meta: changed.Meta}
	if err != nil {
		return reply, err
	}
	if changed.Created {
		reply.Status = http.StatusCreated
	}
	wire.SetJSON(h, r.Setting(changed.Origin))
	reply.Body = wire.AppendRemoved(nil, changed.Path)
	return reply, nil
}

// smallBody reads a body of JSON that is short whatever the plan.
func smallBody(r *server.Request, limits wire.Limits, most int) ([]byte, wire.Limits, error) {
	limits.Body = min(limits.Body, most)
	body, err := r.Body(wire.JSONType, limits.Body)
	return body, r.DecodeLimits(body, limits), err
}

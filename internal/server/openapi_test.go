package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/resource/shares"
	"ql/internal/server"
	"ql/internal/server/openapi"
)

// description is the OpenAPI document, read and checked once.
var description = sync.OnceValues(func() (*openapi3.T, error) {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
	doc, err := openapi3.NewLoader().LoadFromData(openapi.Document())
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background(), openapi3.EnableExamplesValidation())
})

// checkDescribed checks an answer against the document. Every answer that a test
// of this package gets passes through here.
func checkDescribed(t testing.TB, req *http.Request, r response) {
	t.Helper()
	doc, err := description()
	check(t, err)
	path := described(req.URL.Path)
	item := doc.Paths.Value(path)
	if item == nil || req.Method == http.MethodOptions {
		return
	}
	if path == "/run/{path}" && !strings.HasPrefix(r.body, `{"status":"error"`) && !strings.HasPrefix(r.body, `{"status":"failed"`) {
		return // a program's own answer is as it likes
	}
	operation := item.GetOperation(strings.ToUpper(req.Method))
	if req.Method == http.MethodHead {
		operation = item.Get
	}
	if operation == nil || r.status == http.StatusMethodNotAllowed {
		for _, operation = range item.Operations() {
			break
		}
	}
	// To read a schema takes longer than the call did: what was compared once is not again.
	answer := sha256.Sum256(fmt.Append(nil, path, req.Method, r.status, r.header.Get("Content-Type"), r.body))
	if _, known := comparedAnswers.LoadOrStore(answer, true); !known && !testing.Short() {
		checkAnswer(t, req, r, &routers.Route{Spec: doc, Path: path, PathItem: item, Method: req.Method, Operation: operation})
	}
	described := operation.Responses.Value(strconv.Itoa(r.status))
	for name := range r.header {
		if described != nil && !isEverywhere(name) && !describesHeader(described.Value, name) {
			t.Errorf("%s %s answers %d with the header %s, which is not described", req.Method, path, r.status, name)
		}
	}
}

// comparedAnswers are the digests of those that were compared with the description.
var comparedAnswers sync.Map

func checkAnswer(t testing.TB, req *http.Request, r response, route *routers.Route) {
	t.Helper()
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: req, Route: route,
		},
		Status: r.status, Header: r.header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	input.SetBodyBytes([]byte(r.body))
	if err := openapi3filter.ValidateResponse(req.Context(), input); err != nil {
		t.Errorf("%s %s answers what is not described: %v\n%d %v %s", req.Method, route.Path, err, r.status, r.header, r.body)
	}
}

// describesHeader tells whether a response names a header, in whatever case.
func describesHeader(r *openapi3.Response, name string) bool {
	for described := range r.Headers {
		if strings.EqualFold(described, name) {
			return true
		}
	}
	return false
}

// isEverywhere tells whether a header is one of HTTP itself, or of those that
// keep browsers from harm, which say nothing of an answer's own.
func isEverywhere(name string) bool {
	switch name {
	case "Date", "Content-Type", "Content-Length", "Connection", "Transfer-Encoding", "Vary", "Cache-Control",
		"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "X-Robots-Tag", "Permissions-Policy", "Strict-Transport-Security",
		"X-Accel-Buffering":
		return true
	}
	return strings.HasPrefix(name, "Access-Control-") || strings.HasPrefix(name, "Cross-Origin-")
}

// described returns the address of the document that a path is of.
func described(path string) string {
	if strings.HasPrefix(path, "/v1/files/") {
		return "/v1/files/{path}"
	}
	if strings.HasPrefix(path, "/run/") {
		return "/run/{path}"
	}
	if strings.HasPrefix(path, "/v1/keys/") {
		return "/v1/keys/{name}"
	}
	if strings.HasPrefix(path, "/v1/sites/main/content/") {
		return "/v1/sites/main/content/{id}"
	}
	if strings.HasPrefix(path, "/v1/sites/main/releases/") {
		return "/v1/sites/main/releases/{ref}/restore"
	}
	if strings.HasPrefix(path, "/v1/scripts/") {
		return "/v1/scripts/{name}"
	}
	if name, ok := strings.CutPrefix(path, "/v1/databases/"); ok {
		_, what, _ := strings.Cut(name, "/")
		return strings.TrimSuffix("/v1/databases/{name}/"+what, "/")
	}
	if id, ok := strings.CutPrefix(path, "/v1/webhooks/"); ok {
		_, what, _ := strings.Cut(id, "/")
		return strings.TrimSuffix("/v1/webhooks/{id}/"+what, "/")
	}
	if name, ok := strings.CutPrefix(path, "/v1/admin/accounts/"); ok {
		_, what, _ := strings.Cut(name, "/")
		return strings.TrimSuffix("/v1/admin/accounts/{name}/"+what, "/")
	}
	if strings.HasPrefix(path, "/v1/admin/invitations/") {
		return "/v1/admin/invitations/{id}"
	}
	if strings.HasPrefix(path, "/v1/resets/") {
		return "/v1/resets/{token}"
	}
	if strings.HasPrefix(path, "/v1/shares/") {
		return "/v1/shares/{id}"
	}
	if strings.HasPrefix(path, "/files/") {
		return "/files/{token}"
	}
	if strings.HasPrefix(path, "/form/") {
		if strings.HasSuffix(path, "/logo") {
			return "/form/{token}/logo"
		}
		return "/form/{token}"
	}
	if strings.HasPrefix(path, "/assets/") {
		return "/assets/{name}"
	}
	for _, prefix := range []string{"/v1/job/", "/v1/confirm/"} {
		if id, ok := strings.CutPrefix(path, prefix); ok && id != "" {
			if id, ok := strings.CutSuffix(id, "/events"); ok && id != "" && prefix == "/v1/job/" {
				return "/v1/job/{id}/events"
			}
			return prefix + "{id}"
		}
	}
	return path
}

// TestDescription checks that the document is OpenAPI, and has every route and
// nothing else.
func TestDescription(t *testing.T) {
	doc, err := description()
	check(t, err)
	w := boot(t)
	var routes, listed []string
	for _, r := range w.handler.Routes() {
		if r.Method != server.AnyMethod {
			routes = append(routes, r.Method+" "+r.Path)
			continue
		}
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			routes = append(routes, method+" "+r.Path)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			listed = append(listed, method+" "+path)
			if operation.OperationID == "" || operation.Summary == "" || operation.Security == nil {
				t.Errorf("%s %s says too little of itself", method, path)
			}
		}
	}
	slices.Sort(routes)
	slices.Sort(listed)
	if !slices.Equal(routes, listed) {
		t.Errorf("routes:\n%s\ndescribed:\n%s", strings.Join(routes, "\n"), strings.Join(listed, "\n"))
	}
	r := w.send("GET", "/openapi.json", "", "")
	if r.status != 200 || r.header.Get("Content-Type") != "application/json" || r.body != string(openapi.Document()) {
		t.Errorf("%d %v", r.status, r.header)
	}
}

// TestDescriptionHasEveryStatus checks that every status of the table of errors
// that a route can give is described for it.
func TestDescriptionHasEveryStatus(t *testing.T) {
	doc, err := description()
	check(t, err)
	// What only downloads give, only making a key, only proving a domain, only sites, only a deploy, only asking for a new password, only schedules, and only signals.
	never := []fault.Code{fault.FileGone, fault.AlreadyExists, fault.DomainNotProven, fault.MisdirectedRequest, fault.ContentMissing, fault.NotAvailable, fault.ScheduleBusy, fault.JobEnded}
	// A body is what only some routes take, and a script what only some run.
	ofBodies := []fault.Code{fault.UnsupportedMediaType}
	ofScripts := []fault.Code{
		fault.SyntaxError, fault.ScriptFailed, fault.DivisionByZero, fault.InvalidPath, fault.SQLError, fault.AddressNotAllowed,
		fault.InvalidURL, fault.LimitExceeded, fault.SessionBusy, fault.IdempotencyInProgress, fault.IdempotencyMismatch,
	}
	ofReplies := []fault.Code{fault.NotPaused, fault.WrongReply, fault.InvalidFields}
	ofJobs := []fault.Code{fault.JobNotFound}
	ofFiles := []fault.Code{fault.IsFolder, fault.NotAFolder, fault.FolderNotEmpty, fault.PreconditionFailed, fault.RangeNotSatisfiable}
	// Of scripts, but for the paths that both have.
	noScript := slices.DeleteFunc(slices.Concat(ofScripts, ofReplies), func(c fault.Code) bool { return c == fault.InvalidPath })
	for path, missing := range map[string][]fault.Code{
		"POST /v1/query":          slices.Concat(ofReplies, ofJobs),
		"POST /api":               slices.Concat(ofReplies, ofJobs),
		"POST /v1/confirm/{id}":   ofScripts,
		"GET /v1/job/{id}":        slices.Concat(ofBodies, ofScripts, ofReplies),
		"DELETE /v1/job/{id}":     slices.Concat(ofBodies, ofScripts, ofReplies),
		"GET /v1/job/{id}/events": slices.Concat(ofBodies, ofScripts, ofReplies),
		"GET /v1/jobs":            slices.Concat(ofBodies, ofScripts, ofReplies, ofJobs),
		"GET /v1/questions":       slices.Concat(ofBodies, ofScripts, ofReplies, ofJobs),
		"GET /v1/limits":          slices.Concat(ofBodies, ofScripts, ofReplies, ofJobs),
		"GET /v1/files/{path}":    slices.Concat(ofBodies, noScript, []fault.Code{fault.IsFolder, fault.NotAFolder, fault.FolderNotEmpty}),
		"PUT /v1/files/{path}":    slices.Concat(noScript, []fault.Code{fault.RangeNotSatisfiable}),
		"DELETE /v1/files/{path}": slices.Concat(ofBodies, noScript, []fault.Code{fault.RangeNotSatisfiable}),
	} {
		method, path, _ := strings.Cut(path, " ")
		o := doc.Paths.Value(path).GetOperation(method)
		isFiles := strings.HasPrefix(path, "/v1/files/")
		for code, status := range fault.Statuses() {
			if !slices.Contains(never, code) && !slices.Contains(missing, code) && (isFiles || !slices.Contains(ofFiles, code)) && o.Responses.Value(strconv.Itoa(status)) == nil {
				t.Errorf("%s does not describe %d (%s)", o.OperationID, status, code)
			}
		}
	}
}

// TestDescriptionHasWhatEveryRouteGives: an address may be too long, and the
// service called by a name that is not its own, whatever is asked for.
func TestDescriptionHasWhatEveryRouteGives(t *testing.T) {
	doc, err := description()
	check(t, err)
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			for _, status := range []string{"404", "405", "413"} {
				isHealth := path == "/healthz" || path == "/readyz" // by whatever name
				if o.Responses.Value(status) == nil && (status != "404" || !isHealth) {
					t.Errorf("%s %s does not describe %s", method, path, status)
				}
			}
		}
	}
}

// TestDescribedReplies checks replies against the document, as
// TestDescribedRequests does requests.
func TestDescribedReplies(t *testing.T) {
	doc, err := description()
	check(t, err)
	w := boot(t)
	ada := w.member("ada", account.Standard)
	id := w.query(ada, `CONFIRM "Sure?"`, "").read(t).JobID
	schema := doc.Components.Schemas["Reply"].Value
	for body, good := range map[string]bool{
		`{"fields":{}}`:                           true, // in shape: it is the wrong one for this question
		`{"fields":{"a":[1,{"b":null}]}}`:         true,
		`{"approved":true,"prompt_id":"another"}`: true,
		`{}`:                               false,
		`{"approved":true,"fields":{}}`:    false,
		`{"approved":"true"}`:              false,
		`{"approved":null}`:                false,
		`{"approved":1}`:                   false,
		`{"fields":[]}`:                    false,
		`{"fields":null}`:                  false,
		`{"approved":true,"more":1}`:       false,
		`{"approved":true,"prompt_id":""}`: false,
		`{"approved":true,"prompt_id":1}`:  false,
		`{"prompt_id":"e2176c74-b850-449f-953a-6e967b55"}`: false,
		`[]`: false,
	} {
		var v any
		check(t, json.Unmarshal([]byte(body), &v))
		described := schema.VisitJSON(v, openapi3.EnableJSONSchema2020()) == nil
		taken := w.send("POST", "/v1/confirm/"+id, jsonType, body).status != 400
		if described != good || taken != good {
			t.Errorf("%s: described %t, taken %t", body, described, taken)
		}
	}
	if w.state(id) != "paused" {
		t.Errorf("the job is %s", w.state(id))
	}
}

// TestDescribedRequests checks requests against the document: what it takes is
// taken, what it refuses is refused.
func TestDescribedRequests(t *testing.T) {
	doc, err := description()
	check(t, err)
	w := boot(t)
	ada := w.member("ada", account.Unlimited)
	schema := doc.Components.Schemas["Query"].Value
	auth := `"auth":{"username":"ada","password":` + quote(ada.password) + `}`
	for body, good := range map[string]bool{
		`{` + auth + `,"query":"EMIT 1"}`:                                                                               true,
		`{` + auth + `,"query":"","mode":"sync","options":{},"request":{}}`:                                             true,
		`{` + auth + `,"query":"","mode":"async","options":{"webhook":"https://example.com/end"}}`:                      true,
		`{` + auth + `,"query":"","request":{"path":"/","header:Accept":"a","get":{"a":"b"},"post":[]}}`:                true,
		`{` + auth + `,"query":"","trace":false}`:                                                                       true,
		`{` + auth + `,"query":"","trace":"errors"}`:                                                                    true,
		`{` + auth + `,"query":"","trace":"full"}`:                                                                      true,
		`{` + auth + `,"query":"","trace":true}`:                                                                        false,
		`{` + auth + `,"query":"","trace":null}`:                                                                        false,
		`{` + auth + `,"query":"","trace":"none"}`:                                                                      false,
		`{` + auth + `,"query":"","mode":"async","options":{"webhook":"https://example.com/end","webhook_trace":true}}`: true,
		`{` + auth + `,"query":"","mode":"async","options":{"webhook":"https://example.com/end","webhook_trace":1}}`:    false,
		`{` + auth + `}`:                                    false,
		`{` + auth + `,"query":1}`:                          false,
		`{` + auth + `,"query":null}`:                       false,
		`{` + auth + `,"query":"","mode":"later"}`:          false,
		`{` + auth + `,"query":"","more":1}`:                false,
		`{` + auth + `,"query":"","options":{"more":1}}`:    false,
		`{` + auth + `,"query":"","options":{"webhook":1}}`: false,
		`{` + auth + `,"query":"","options":{"webhook":"https://example.com/end","webhook_events":["paused","finished"]}}`: true,
		`{` + auth + `,"query":"","options":{"webhook":"https://example.com/end","webhook_events":["ended"]}}`:             false,
		`{` + auth + `,"query":"","request":{"path":1}}`:                                                                   false,
		`{` + auth + `,"query":"","request":{"get":{"a":1,"b":null},"post":{"a":[{}]},"body":[1]}}`:                        true,
		`{` + auth + `,"query":"","request":{"body":null}}`:                                                                true,
		`{` + auth + `,"query":"","request":{"cookie":{"a":1}}}`:                                                           false,
		`{` + auth + `,"query":"","request":{"get":["a"]}}`:                                                                false,
		`{"auth":{"username":"ada"},"query":""}`:                                                                           false,
		`{"auth":{"password":"x"},"query":""}`:                                                                             false,
		`{"auth":{"username":"ada","password":` + quote(ada.password) + `,"token":"x"},"query":""}`:                        true,
		`{"auth":{"username":"ada","token":"x"},"query":""}`:                                                               true,
		`{"auth":{"username":"ada","token":"x","more":1},"query":""}`:                                                      false,
		`{"auth":{"username":"ada","password":"x","key":"x"},"query":""}`:                                                  false,
		`{` + auth + `,"query":"","script":"cart"}`:                                                                        false,
		`{` + auth + `,"script":"cart","input":{"a":1},"mode":"sync"}`:                                                     true,
		`{` + auth + `,"script":"cart","input":[]}`:                                                                        true,
		`{` + auth + `,"script":"cart","input":[1]}`:                                                                       false,
		`{` + auth + `,"query":"","request":{"header:Accept":1}}`:                                                          false,
		`{"auth":null,"query":""}`:                                                                                         false,
		`[]`:                                                                                                               false,
	} {
		var v any
		check(t, json.Unmarshal([]byte(body), &v))
		described := schema.VisitJSON(v, openapi3.EnableJSONSchema2020()) == nil
		taken := w.send("POST", "/v1/query", jsonType, body).status != 400
		if described != good || taken != good {
			t.Errorf("%s: described %t, taken %t", body, described, taken)
		}
	}
}

// TestDescribedDownloads loads shared files in all ways that have headers of
// their own; send checks them.
func TestDescribedDownloads(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.send("PUT", "/v1/files/a.txt", "", "hello", "Authorization", basic(ada.name, ada.password))
	link := func(letter string, times int) string {
		token := strings.Repeat(letter, 43)
		hash, ok := shares.ParseToken(token)
		if !ok {
			t.Fatalf("%s is no token", token)
		}
		check(t, w.store.Shares().Create(t.Context(), shares.CreateParams{
			Token: hash, Account: ada.ID, Path: "/a.txt", Name: "b.txt", Times: times, Made: time.Now(), Expires: time.Now().Add(time.Hour),
		}))
		return "/files/" + token
	}
	unlimited, once := link("A", 0), link("Q", 1)
	for _, test := range []struct {
		method, path string
		headers      []string
		want         int
		has          string // a header
	}{
		{"GET", unlimited, nil, 200, "Etag"},
		{"HEAD", unlimited, nil, 200, "Last-Modified"},
		{"GET", unlimited, []string{"Range", "bytes=1-2"}, 206, "Content-Range"},
		{"GET", unlimited, []string{"Range", "bytes=9-"}, 416, "Content-Range"},
		{"GET", unlimited, []string{"If-None-Match", "*"}, 304, "Etag"},
		{"GET", unlimited, []string{"If-Match", `"x"`}, 412, ""},
		{"HEAD", once, nil, 200, "Accept-Ranges"},
		{"GET", once, nil, 200, "Set-Cookie"},
		{"GET", once, nil, 410, ""},
	} {
		r := w.send(test.method, test.path, "", "", test.headers...)
		if r.status != test.want || test.has != "" && r.header.Get(test.has) == "" || r.status == 200 && test.method == "GET" && r.body != "hello" {
			t.Errorf("%s %v: %d %v %s", test.method, test.headers, r.status, r.header, r.body)
		}
	}
}

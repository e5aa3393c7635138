// Command client calls a service by what oapi-codegen made of its OpenAPI document: the folder
// api, which the test fills. It says what it found wrong.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/google/uuid"

	"client/api"
)

func main() {
	log.SetFlags(0)
	c, err := api.NewClientWithResponses(os.Args[1], api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		if r.URL.Path != "/v1/query" { // which has its credentials in its body
			r.SetBasicAuth("dev", "dev")
		}
		return nil
	}))
	check(err)
	client := caller{c}
	client.sync()
	client.failed()
	client.asyncAndPoll()
	client.confirm()
	client.gather()
	client.files()
}

type caller struct{ *api.ClientWithResponses }

// query runs a script; mode and trace are left out where they are nil.
func (c caller) query(q api.SentQuery) *api.QueryResponse {
	q.Auth = new(api.Auth)
	check(q.Auth.FromPasswordAuth(api.PasswordAuth{Username: "dev", Password: "dev"}))
	var body api.QueryJSONRequestBody
	check(body.FromSentQuery(q))
	r, err := c.QueryWithResponse(context.Background(), nil, body)
	check(err)
	return r
}

func (c caller) sync() {
	var get api.Values
	check(get.FromAnyValues(api.AnyValues{"name": "Ada"}))
	r := c.query(api.SentQuery{
		Query: `EMIT "Hello " + !GET('name') + !REQUEST('header:Accept')`,
		Request: &api.ForwardedRequest{
			Path: ptr("/"), GetValues: &get, AdditionalProperties: map[string]any{"header:Accept": "!"},
		},
	})
	done := as[api.Succeeded](r.JSON200.ValueByDiscriminator())
	if done.Result != "Hello Ada!" || done.JobId == uuid.Nil || len(*done.Trace) != 1 {
		log.Fatalf("sync: %s", r.Body)
	}
}

func (c caller) failed() {
	r := c.query(api.SentQuery{Query: `FAIL "no"`})
	if failed := as[api.Failed](r.JSON422.ValueByDiscriminator()); failed.Error.Message != "no" {
		log.Fatalf("failed: %s", r.Body)
	}
	r = c.query(api.SentQuery{Query: `EMIT`})
	if refused := as[api.Failed](r.JSON422.ValueByDiscriminator()); refused.Error.Code != "syntax_error" {
		log.Fatalf("refused: %s", r.Body)
	}
}

func (c caller) asyncAndPoll() {
	r := c.query(api.SentQuery{Query: `EMIT 1 + 1`, Mode: ptr(api.Mode("async"))})
	accepted := as[api.Accepted](r.JSON202.ValueByDiscriminator())
	job, err := c.JobWithResponse(context.Background(), accepted.JobId, &api.JobParams{Wait: ptr(60)})
	check(err)
	if done := as[api.Complete](job.JSON200.ValueByDiscriminator()); done.Result != "2" || done.JobId != accepted.JobId {
		log.Fatalf("poll: %s", job.Body)
	}
}

func (c caller) confirm() {
	paused := as[api.Paused](c.query(api.SentQuery{Query: `CONFIRM "Sure?" EMIT "done"`}).JSON202.ValueByDiscriminator())
	var reply api.Reply
	check(reply.FromConfirmReply(api.ConfirmReply{Approved: true, PromptId: &paused.Prompt.Id}))
	job, err := c.ConfirmWithResponse(context.Background(), paused.JobId, nil, reply)
	check(err)
	if done := as[api.Complete](job.JSON200.ValueByDiscriminator()); done.Result != "done" {
		log.Fatalf("confirm: %s", job.Body)
	}
}

func (c caller) gather() {
	paused := as[api.Paused](c.query(api.SentQuery{Query: `GATHER "Who?" FIELDS name TEXT REQUIRED SET ?a EMIT ?a.name`}).JSON202.ValueByDiscriminator())
	if paused.Prompt.Kind != "gather" || paused.Prompt.Schema.Properties["name"] == nil {
		log.Fatalf("gather: %+v", paused.Prompt)
	}
	var reply api.Reply
	check(reply.FromGatherReply(api.GatherReply{Fields: map[string]any{"name": "Ada"}}))
	job, err := c.ConfirmWithResponse(context.Background(), paused.JobId, nil, reply)
	check(err)
	if done := as[api.Complete](job.JSON200.ValueByDiscriminator()); done.Result != "Ada" {
		log.Fatalf("gather: %s", job.Body)
	}
}

func (c caller) files() {
	const path = "a folder/b.txt" // whose slash the client encodes
	stored, err := c.StoreFileWithBodyWithResponse(context.Background(), path, nil, "text/plain", strings.NewReader("hello"))
	check(err)
	if stored.JSON201 == nil || stored.JSON201.Path != "/"+path {
		log.Fatalf("store: %s", stored.Body)
	}
	file, err := c.FileWithResponse(context.Background(), path, nil)
	check(err)
	if string(file.Body) != "hello" {
		log.Fatalf("file: %s", file.Body)
	}
}

// as returns the alternative that an answer has.
func as[T any](v any, err error) T {
	check(err)
	t, ok := v.(T)
	if !ok {
		panic(fmt.Sprintf("the answer is a %T", v))
	}
	return t
}

func ptr[T any](v T) *T { return &v }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

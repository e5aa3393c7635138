package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"ql/bench/load"
)

// script is what is asked for.
type script struct {
	name   string
	text   string
	result string
	steps  []string // as the trace names them: the bare handler answers with as many
}

// prepare makes the table that scripts read of.
const prepare = `CREATE TABLE IF NOT EXISTS fruits (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT OR REPLACE INTO fruits (id, name) VALUES (1, 'apple'), (2, 'pear'), (3, 'plum');`

const statements = 30

func scripts() []script {
	var long strings.Builder
	var steps []string
	long.WriteString("SET ?n AS 0\n")
	steps = append(steps, "SET ?n")
	for i := range statements - 2 {
		fmt.Fprintf(&long, "SET ?n AS ?n + %d\n", i)
		steps = append(steps, "SET ?n")
	}
	long.WriteString("EMIT ?n")
	return []script{
		{name: "trivial", text: `EMIT "hello"`, result: "hello", steps: []string{"EMIT"}},
		{name: "30 statements", text: long.String(), result: "378", steps: append(steps, "EMIT")},
		{name: "SQLite read", text: "SELECT name FROM fruits WHERE id = 2 SET VALUE ?name\nEMIT ?name", result: "pear", steps: []string{"SELECT", "EMIT"}},
	}
}

// The conventions, as tables name them.
const (
	asBare = "bare handler"
	asJSON = "POST /v1/query"
	asForm = "POST /api"
)

// answer is what the bare handler answers, and is looked for in the service's.
type answer struct {
	Status string `json:"status"`
	JobID  string `json:"job_id"`
	Result string `json:"result"`
	Trace  []step `json:"trace"`
}

type step struct {
	Step       string `json:"step"`
	Status     string `json:"status"`
	DurationMS int64  `json:"duration_ms"`
	ExecClass  string `json:"exec_class"`
	Line       int    `json:"line"`
	StartMS    int64  `json:"start_ms"`
	DurationUS int64  `json:"duration_us"`
}

// bareCall is the service's JSON call, sent to a bare handler.
func bareCall(host, path string, who load.Credentials, text string) []byte {
	body, _ := json.Marshal(load.Question{Auth: who, Query: text, Mode: "sync"}) // of texts alone, which never fails
	return load.Post(host, path, "application/json", string(body))
}

// formCall is a call of the form convention, whose password is the API key.
func formCall(host string, who load.Credentials, text string) []byte {
	form := url.Values{"identity": {who.Username}, "password": {who.Password}, "q": {text}}
	return load.Post(host, "/api", "application/x-www-form-urlencoded", form.Encode())
}

// checkJSON tells whether a body is the answer that was to be expected.
func (s *script) checkJSON(body []byte) error {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("%s: the answer is no JSON: %w", s.name, err)
	}
	if a.Status != "ok" || a.JobID == "" || a.Result != s.result || len(a.Trace) != len(s.steps) {
		return fmt.Errorf("%s: the answer is %s", s.name, body)
	}
	return nil
}

func (s *script) checkText(body []byte) error {
	if string(body) != s.result {
		return fmt.Errorf("%s: the answer is %q, not %q", s.name, body, s.result)
	}
	return nil
}

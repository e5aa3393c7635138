package wire

import (
	"testing"
)

func TestDecodeSQLQuery(t *testing.T) {
	for body, want := range map[string]string{
		`{"sql":"SELECT 1"}`: "",
		`{"sql":"","params":[1,null,{"base64":"AA=="}],"limit":100000,"write":true}`: "",
		`{}`:                                 "sql",
		`{"sql":1}`:                          "sql",
		`{"sql":null}`:                       "sql",
		`{"sql":"","params":{}}`:             "params",
		`{"sql":"","params":null}`:           "params",
		`{"sql":"","limit":0}`:               "limit",
		`{"sql":"","limit":1.5}`:             "limit",
		`{"sql":"","limit":"1"}`:             "limit",
		`{"sql":"","limit":100001}`:          "limit",
		`{"sql":"","write":1}`:               "write",
		`{"sql":"","more":1}`:                "more",
		`[]`:                                 "body",
		`{"sql":"` + "\xff" + `"}`:           "body",
		`{"sql":"","sql":""}`:                "sql",
		`{"sql":"","params":[` + "1]}" + `x`: "body",
	} {
		_, err := DecodeSQLQuery([]byte(body), Limits{})
		got := ""
		if r, ok := err.(*Refusal); ok { //nolint:errorlint // it is one
			got = r.Field
		}
		if got != want {
			t.Errorf("%.60s: %v", body, err)
		}
	}
}

// FuzzSQLQuery checks that what is taken fits, and has a list of parameters.
func FuzzSQLQuery(f *testing.F) {
	f.Add(`{"sql":"SELECT ?","params":[1],"limit":1,"write":false}`)
	f.Fuzz(func(t *testing.T, body string) {
		q, err := DecodeSQLQuery([]byte(body), Limits{})
		if err != nil {
			return
		}
		if q.Limit < 1 || q.Limit > mostRows || q.Params != nil && (q.Params[0] != '[' || q.Params[len(q.Params)-1] != ']') {
			t.Errorf("%+v", q)
		}
	})
}

// FuzzFileChange checks that what is taken says one thing to do.
func FuzzFileChange(f *testing.F) {
	f.Add(`{"move":"/a","replace":true}`)
	f.Add(`{"folder":true}`)
	f.Fuzz(func(t *testing.T, body string) {
		c, err := DecodeFileChange([]byte(body), Limits{})
		if err == nil && (c.Move != "") == (c.Copy != "") != c.Folder {
			t.Errorf("%+v", c)
		}
	})
}

// FuzzNewShare checks that what is taken fits.
func FuzzNewShare(f *testing.F) {
	f.Add(`{"path":"/a","times":null,"expires_in":60,"name":"b"}`)
	f.Fuzz(func(t *testing.T, body string) {
		s, err := DecodeNewShare([]byte(body), Limits{})
		if err == nil && (s.Path == "" || s.Times < 0 || s.Times > mostTimes || s.ExpiresIn < 0 || s.ExpiresIn > mostShareSeconds) {
			t.Errorf("%+v", s)
		}
	})
}

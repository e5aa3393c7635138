package wire

import (
	"reflect"
	"testing"
)

func TestReadResponse(t *testing.T) {
	for _, r := range []Response{
		{},
		{Status: 404},
		{Headers: []Pair{{"X-A", "1"}, {"x-b", "\"\\ é"}}},
		{Status: 201, Headers: []Pair{{"Location", "/run/ada/x"}}, Cookies: []Cookie{{Name: "b", Value: "2"}, {Name: "a", Removed: true}}},
	} {
		text := r.AppendJSON(nil)
		got, err := ReadResponse(text)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
	if got, err := ReadResponse(nil); err != nil || !reflect.DeepEqual(got, Response{}) {
		t.Errorf("nothing is read as %+v, %v", got, err)
	}
	for _, text := range []string{``, `[]`, `{"status":"1"}`, `{"headers":[]}`, `{"headers":{"a":1}}`, `{"more":1}`, `{`} {
		if _, err := ReadResponse(Raw(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func FuzzReadResponse(f *testing.F) {
	f.Add([]byte(`{"status":201,"headers":{"A":"b"},"cookies":{"c":"d","e":null}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ReadResponse(text)
		if err != nil {
			return
		}
		again, err := ReadResponse(r.AppendJSON(nil))
		if err != nil || !reflect.DeepEqual(again, r) && r.Status != 0 {
			t.Errorf("%q is read as %+v, and that as %+v, %v", text, r, again, err)
		}
	})
}

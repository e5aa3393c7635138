package wire

import (
	"encoding/json"
	"testing"
)

// FuzzDecodeRepeat reads bodies that anybody may have written. A request that is read is written as
// one that is read as the same.
func FuzzDecodeRepeat(f *testing.F) {
	for _, body := range []string{``, `{}`, `{"request":{"get":{"a":1,"b":"c"},"header:x":"y","body":[1]},"input":{"a":1},"mode":"async","trace":"errors"}`, `{"input":[]}`, `{"request":null}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := DecodeRepeat(body, Limits{})
		if err != nil || q.Request == nil {
			return
		}
		written := q.Request.AppendJSON(nil)
		if !json.Valid(written) {
			t.Fatalf("%q is written as %q", body, written)
		}
	})
}

package config

import (
	"strings"
	"testing"
)

func TestBlobs(t *testing.T) {
	for text, want := range map[string]Bucket{
		"s3://files?region=eu-central-1":                                  {Name: "files", Endpoint: "s3.amazonaws.com", Region: "eu-central-1"},
		"s3://files/?endpoint=http://127.0.0.1:9000/":                     {Name: "files", Endpoint: "127.0.0.1:9000", Plain: true, Region: "us-east-1"},
		"s3://my.files/team/ql/?endpoint=https://s3.example.com&region=x": {Name: "my.files", Prefix: "team/ql/", Endpoint: "s3.example.com", Region: "x"},
		"s3://files/a?endpoint=https%3A%2F%2F%5B2001:db8::1%5D:443":       {Name: "files", Prefix: "a/", Endpoint: "[2001:db8::1]:443", Region: "us-east-1"},
	} {
		if got, err := parseBlobs(text); err != nil || *got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                                       "it must be like s3://bucket/prefix",
		"/var/blobs":                             "it must be like s3://bucket/prefix",
		"http://files/":                          "it must be like s3://bucket/prefix",
		"s3://key:canary@files?region=x":         "keys do not belong there",
		"s3://files":                             "say in which region it is",
		"s3://fi?region=x":                       `"fi" is no name of a bucket`,
		"s3://Files?region=x":                    `"Files" is no name of a bucket`,
		"s3://files:80?region=x":                 `"files:80" is no name of a bucket`,
		"s3:///files?region=x":                   `"" is no name of a bucket`,
		"s3://files/a//b?region=x":               `"a//b" is no prefix`,
		"s3://files/../b?region=x":               `"../b" is no prefix`,
		"s3://files/a%20b?region=x":              `"a b" is no prefix`,
		"s3://files?region=EU":                   `"EU" is no region`,
		"s3://files?region=x&region=y":           `"region" cannot be there`,
		"s3://files?region=x&secret=canary":      `"secret" cannot be there`,
		"s3://files?endpoint=s3.example.com":     `the endpoint "s3.example.com" must be like`,
		"s3://files?endpoint=https://h/path":     "must be like https://host:port",
		"s3://files?endpoint=https://a b.com":    "must be like https://host:port",
		"s3://files?endpoint=https://h:99999":    "must be like https://host:port",
		"s3://files?endpoint=https://k:s@h.com":  "must be like https://host:port",
		"s3://files?endpoint=https://h.com?x=%1": "must be like",
	} {
		got, err := parseBlobs(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s is shown: %v", text, err)
		}
	}
}

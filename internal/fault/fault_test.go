package fault

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// published is the contract's table: callers rely on it.
const published = `
400 invalid_request
401 bad_credentials
403 origin_not_allowed script_not_published scope_missing confirm_required access_denied
404 job_not_found file_not_found not_found script_not_found
405 method_not_allowed
409 not_paused idempotency_in_progress session_busy schedule_busy already_exists content_missing is_folder not_a_folder folder_not_empty
410 file_gone job_ended
412 precondition_failed
413 too_large
415 unsupported_media_type
416 range_not_satisfiable
421 misdirected_request
422 syntax_error script_failed division_by_zero invalid_path sql_error address_not_allowed invalid_url
422 limit_exceeded invalid_fields wrong_reply domain_not_proven idempotency_mismatch not_available
429 rate_limited quota_exceeded
500 internal outcome_unknown
503 overloaded storage_unavailable
`

func TestStatusesAreThePublishedOnes(t *testing.T) {
	want := map[Code]int{}
	for line := range strings.Lines(strings.TrimSpace(published)) {
		words := strings.Fields(line)
		status, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range words[1:] {
			want[Code(code)] = status
		}
	}
	if got := Statuses(); !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	for code, status := range want {
		if got := New(code, "x").Status(); got != status {
			t.Errorf("%s: got status %d, want %d", code, got, status)
		}
	}
}

// TestEveryCodeHasAStatus reads the constants from the source, so that a new
// one without a row fails.
func TestEveryCodeHasAStatus(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == "Code" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, Code(text))
		}
		return true
	})
	if len(codes) != len(statuses) {
		t.Errorf("%d constants, %d rows", len(codes), len(statuses))
	}
	for _, code := range codes {
		if _, ok := statuses[code]; !ok {
			t.Errorf("%s has no status", code)
		}
	}
}

func TestUnknownCodesAre500(t *testing.T) {
	if got := New("out_of_tea", "no").Status(); got != 500 {
		t.Errorf("got %d", got)
	}
}

func TestOf(t *testing.T) {
	if Of(nil) != nil {
		t.Error("Of(nil) is an error")
	}
	coded := Invalid("mode", "must be sync or async, not %q", "fast")
	if got := Of(fmt.Errorf("decoding: %w", coded)); got != coded {
		t.Errorf("got %v, want the coded error", got)
	}

	cause := errors.New("open /var/secret: permission denied")
	e := Of(cause)
	if e.Code != Internal || e.Status() != 500 || !errors.Is(e, cause) {
		t.Errorf("got %v with status %d, want an internal error because of the cause", e, e.Status())
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}$`).MatchString(e.ID) || !strings.Contains(e.Message, e.ID) {
		t.Errorf("got id %q and message %q, want 8 hex digits, told in the message", e.ID, e.Message)
	}
	if strings.Contains(e.Message, "secret") {
		t.Errorf("the message tells the cause: %s", e.Message)
	}
	if !strings.Contains(e.Error(), "secret") || !strings.Contains(e.Error(), e.ID) {
		t.Errorf("the log's text has no cause or id: %s", e)
	}
	if Of(cause).ID == e.ID {
		t.Error("two internal errors have one id")
	}
}

func TestConstructors(t *testing.T) {
	if e := Retryable(Overloaded, time.Second, "busy"); e.RetryAfter != time.Second || e.Status() != 503 {
		t.Errorf("got %+v", e)
	}
	e := MethodError("PUT", "GET", "POST")
	if e.Status() != 405 || !slices.Equal(e.Allow, []string{"GET", "POST"}) || e.Message != "PUT is not allowed here: use GET or POST" {
		t.Errorf("got %+v", e)
	}
	cause := errors.New("disk on fire")
	f := New(StorageUnavailable, "try again").WithCause(cause)
	if !errors.Is(f, cause) || strings.Contains(f.Message, "fire") || !Is(f, StorageUnavailable) || Is(f, Internal) || Is(cause, Internal) {
		t.Errorf("got %v", f)
	}
	if got, want := Invalid("q", "is missing").Error(), "invalid_request: q: is missing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package service

import (
	"testing"

	"ql/internal/fault"
	"ql/lang/value"
)

// TestFileFaults: what files refuse is an answer with a status of its own, and no fault of the service.
func TestFileFaults(t *testing.T) {
	for code, want := range map[string]int{
		"file_not_found": 404, "is_folder": 409, "not_a_folder": 409, "folder_not_empty": 409, "quota_exceeded": 429,
		"access_denied": 403, "invalid_path": 422, "limit_exceeded": 413,
	} {
		f := fault.Of(fileFault(value.Errorf(code, "no")))
		if got := f.Status(); got != want || f.Message != "no" {
			t.Errorf("%s: %d %s", code, got, f.Message)
		}
	}
}

package files_test

import (
	"testing"

	"ql/internal/engine"
	"ql/internal/resource/files"
	"ql/internal/resource/files/filestest"
)

func TestDirConformance(t *testing.T) {
	filestest.Run(t, func(t *testing.T) engine.Files {
		d, err := files.OpenDir(t.TempDir(), ".ql")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	})
}

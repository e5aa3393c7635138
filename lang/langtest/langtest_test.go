package langtest

import "testing"

func TestConformance(t *testing.T) { RunAll(t, "testdata/*.qlt") }

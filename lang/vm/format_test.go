package vm

import "testing"

func TestSnapshotFormat(t *testing.T) {
	if magic[3] != SnapshotFormat {
		t.Errorf("snapshots are of format %d, and SnapshotFormat says %d", magic[3], SnapshotFormat)
	}
}

package disk

import (
	"io/fs"
	"testing"
)

func TestPrivate(t *testing.T) {
	const root, self, other = 0, 65532, 1000
	for _, c := range []struct {
		mode        fs.FileMode
		owner, self int
		want        bool
	}{
		{0o600, self, self, true},
		{0o400, other, self, true},
		{0o400, root, root, true},
		{0o440, root, self, true}, // a Secret, and a credential
		{0o640, root, self, true},
		{0o640, root, root, false}, // its group is not ours
		{0o640, self, self, false},
		{0o640, other, self, false},
		{0o660, root, self, false},
		{0o450, root, self, false},
		{0o444, root, self, false},
		{0o604, root, self, false},
	} {
		if got := isPrivate(c.mode, c.owner, c.self); got != c.want {
			t.Errorf("mode %04o of %d is private to %d: %t", c.mode, c.owner, c.self, got)
		}
	}
}

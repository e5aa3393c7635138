package seal

import (
	"bytes"
	"errors"
	"testing"
)

// TestOutside: what was handed out opens for the account and the name that it was made for, and
// nothing that was changed does.
func TestOutside(t *testing.T) {
	v, err := NewVault(newMasterKey())
	if err != nil {
		t.Fatal(err)
	}
	plain := []byte("where a page stands")
	sealed := v.SealOutside(7, "page", plain)
	if len(sealed) != len(plain)+OutsideBytes || bytes.Contains(sealed, plain) {
		t.Errorf("%d bytes", len(sealed))
	}
	if got, err := v.OpenOutside(7, "page", sealed); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%q, %v", got, err)
	}
	if again := v.SealOutside(7, "page", plain); bytes.Equal(again, sealed) {
		t.Error("the same text is sealed to the same bytes")
	}
	refused := func(what string, account int64, name string, sealed []byte) {
		t.Helper()
		if got, err := v.OpenOutside(account, name, sealed); !errors.Is(err, ErrDamaged) || got != nil {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	refused("another account", 8, "page", sealed)
	refused("another name", 7, "view", sealed)
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		refused("a changed byte", 7, "page", changed)
		refused("a part", 7, "page", sealed[:i])
	}
	refused("more", 7, "page", append(bytes.Clone(sealed), 0))
	other, err := NewVault(newMasterKey())
	if err != nil {
		t.Fatal(err)
	}
	refused("another key", 7, "page", other.SealOutside(7, "page", plain))
	// What is kept under the master key is none, and the reverse.
	kept, err := v.Seal(7, Snapshot, "page", plain)
	if err != nil {
		t.Fatal(err)
	}
	refused("what is kept", 7, "page", kept)
	if _, err := v.Open(7, Snapshot, "page", sealed); err == nil {
		t.Error("what was handed out opens as what is kept")
	}
}

package seal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/account/accounttest"
	"ql/internal/account/seal"
	"ql/internal/redacted"
)

func newVault(t *testing.T, fill byte) *seal.Vault {
	t.Helper()
	v, err := seal.NewVault(seal.MasterKey{Text: redacted.Text(bytes.Repeat([]byte{fill}, 32))})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVault(t *testing.T) {
	v := newVault(t, 1)
	sealed, err := v.Seal(7, seal.Secret, "api_key", []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("hunter2")) {
		t.Error("the record shows what is sealed")
	}
	plain, err := v.Open(7, seal.Secret, "api_key", sealed)
	if err != nil || string(plain) != "hunter2" {
		t.Errorf("got %q, %v", plain, err)
	}
	again, err := v.Seal(7, seal.Secret, "api_key", []byte("hunter2"))
	if err != nil || bytes.Equal(again, sealed) {
		t.Errorf("two records of one text are the same, %v", err)
	}

	for name, open := range map[string]func() ([]byte, error){
		"another account": func() ([]byte, error) { return v.Open(8, seal.Secret, "api_key", sealed) },
		"another kind":    func() ([]byte, error) { return v.Open(7, seal.Webhook, "api_key", sealed) },
		"another name":    func() ([]byte, error) { return v.Open(7, seal.Secret, "api_kez", sealed) },
		// Kind and name run together must not be another kind and name.
		"a shifted name": func() ([]byte, error) { return v.Open(7, "secreta", "pi_key", sealed) },
		"nothing":        func() ([]byte, error) { return v.Open(7, seal.Secret, "api_key", nil) },
		"a head alone":   func() ([]byte, error) { return v.Open(7, seal.Secret, "api_key", sealed[:9]) },
	} {
		if plain, err := open(); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("%s: got %q, %v, want ErrDamaged", name, plain, err)
		}
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if plain, err := v.Open(7, seal.Secret, "api_key", bad); err == nil {
			t.Errorf("with byte %d changed it opens as %q", i, plain)
		}
	}
	if _, err := newVault(t, 2).Open(7, seal.Secret, "api_key", sealed); !errors.Is(err, seal.ErrWrongKey) {
		t.Errorf("another key: got %v, want ErrWrongKey", err)
	}
	if _, err := v.Seal(0, seal.Secret, "api_key", nil); err == nil {
		t.Error("something is sealed for no account")
	}
}

// TestTokens holds tokens to be the same for the same alone, and to be of the master
// key.
func TestTokens(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range []*seal.Vault{newVault(t, 1), newVault(t, 2)} {
		for _, id := range []int64{1, 2} {
			for _, name := range []string{"", "a", "b"} {
				token := v.Token(id, name)
				if len(token) != 43 || seen[token] || token != v.Token(id, name) {
					t.Errorf("%d %q: %s", id, name, token)
				}
				seen[token] = true
			}
		}
	}
}

func TestOpenVault(t *testing.T) {
	ctx := context.Background()
	store := &accounttest.Memory{}
	file := filepath.Join(t.TempDir(), "master.key")

	if _, err := seal.OpenVault(ctx, store, file, true); err == nil {
		t.Fatal("a named file that is missing was made")
	}
	v, err := seal.OpenVault(ctx, store, file, false)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
	sealed, err := v.Seal(1, seal.Secret, "a", []byte("b"))
	if err != nil {
		t.Fatal(err)
	}
	v, err = seal.OpenVault(ctx, store, file, true)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := v.Open(1, seal.Secret, "a", sealed); err != nil || string(plain) != "b" {
		t.Errorf("after a restart: got %q, %v", plain, err)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %d entries, %v, want the key alone", len(entries), err)
	}

	// Another key, or none, never opens this store, and none is made for it.
	other := filepath.Join(t.TempDir(), "master.key")
	if _, err := seal.OpenVault(ctx, store, other, false); err == nil || !strings.Contains(err.Error(), "--master-key-file") {
		t.Errorf("without the file: got %v", err)
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key was made for a store that has one: %v", err)
	}
	if _, err := seal.OpenVault(ctx, &accounttest.Memory{}, other, false); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.OpenVault(ctx, store, other, false); !errors.Is(err, seal.ErrWrongKey) || strings.Count(err.Error(), "sealed under") != 1 {
		t.Errorf("with another key: got %v, want ErrWrongKey, said once", err)
	}
}

func TestMasterKeyFiles(t *testing.T) {
	ctx := context.Background()
	good := filepath.Join(t.TempDir(), "master.key")
	if _, err := seal.OpenVault(ctx, &accounttest.Memory{}, good, false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string, mode os.FileMode) string {
		file := filepath.Join(t.TempDir(), "master.key")
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, test := range map[string]struct {
		file string
		want string
	}{
		"the same":    {write(string(text), 0o600), ""},
		"read-only":   {write(string(text), 0o400), ""},
		"no newline":  {write(strings.TrimSpace(string(text)), 0o600), ""},
		"open":        {write(string(text), 0o644), "make it 0600"},
		"cut off":     {write(string(text[:20]), 0o600), "no master key"},
		"empty":       {write("", 0o600), "no master key"},
		"other":       {write("hello\n", 0o600), "no master key"},
		"two":         {write(string(text)+string(text), 0o600), "no master key"},
		"a folder":    {t.TempDir(), "no regular file"},
		"unreachable": {filepath.Join(good, "master.key"), "reading the master key"},
	} {
		_, err := seal.OpenVault(ctx, &accounttest.Memory{}, test.file, true)
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want a message with %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), strings.TrimSpace(string(text))[9:]) {
			t.Errorf("%s: the message tells the key", name)
		}
	}
}

func TestMasterKeyIsNotPrinted(t *testing.T) {
	key := seal.MasterKey{Text: "\x01\x02\x03"}
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%x", key), fmt.Sprintf("%d", key), fmt.Sprintf("%+v", &key)} {
		if !strings.Contains(text, redacted.Mask) || strings.Contains(text, "010203") || strings.Contains(text, "1 2 3") {
			t.Errorf("printed as %s", text)
		}
	}
}

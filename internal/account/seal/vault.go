// Package seal encrypts what must not be readable in the store, under a master key in a
// file of its own. What is sealed, and for whom, is for package account to say.
package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
)

// Kind says what is sealed. It is bound into the seal, so that a record of
// one kind never opens as another.
type Kind string

// The kinds.
const (
	APIKey   Kind = "api-key"
	Secret   Kind = "secret"
	Webhook  Kind = "webhook"
	Snapshot Kind = "snapshot"
	Machine  Kind = "machine" // the private key of one

	keyCheck Kind = "check"
)

var (
	// ErrDamaged says that a record does not open: it was changed, moved from
	// another account or name, or is no record at all.
	ErrDamaged = errors.New("the sealed record is damaged or belongs elsewhere")
	// ErrWrongKey says that a record, or the whole store, was sealed under
	// another master key.
	ErrWrongKey = errors.New("sealed under another master key")
)

// Vault seals what must not be readable in the store, under the master key.
//
// A record is a version byte (1), the first 8 bytes of the key's SHA-256, a
// nonce of 12 bytes, and the text in AES-256-GCM with its tag of 16. Its
// associated data is the version, the key's id, the account's ID (8 bytes, big
// endian), the kind and its length before it (1 byte), and the name.
type Vault struct {
	id      [keyIDLen]byte
	aead    cipher.AEAD
	earlier map[[keyIDLen]byte]cipher.AEAD // of keys that are being rotated, which open and do not seal
	tokens  []byte                         // the key of what Token makes
}

const (
	sealVersion = 1
	keyIDLen    = 8
	sealHead    = 1 + keyIDLen
)

// NewVault returns the vault of a master key.
func NewVault(key MasterKey) (*Vault, error) { return newVault(keyRing{keys: []MasterKey{key}}) }

func newVault(r keyRing) (*Vault, error) {
	v := &Vault{earlier: map[[keyIDLen]byte]cipher.AEAD{}, tokens: r.tokens}
	for i, key := range r.keys {
		id, aead, err := key.cipher()
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			v.id, v.aead = id, aead
		default:
			v.earlier[id] = aead
		}
	}
	if v.tokens == nil {
		var err error
		if v.tokens, err = r.keys[0].tokenKey(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// cipher returns what seals under the key, and the name of the key in what is sealed.
func (k MasterKey) cipher() (id [keyIDLen]byte, _ cipher.AEAD, err error) {
	raw := []byte(k.Text)
	block, err := aes.NewCipher(raw)
	if err != nil {
		return id, nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	sum := sha256.Sum256(append([]byte("ql master key\x00"), raw...))
	copy(id[:], sum[:])
	return id, aead, err
}

// tokenKey is what tokens are made of where nothing else was told.
func (k MasterKey) tokenKey() ([]byte, error) {
	return hkdf.Expand(sha256.New, []byte(k.Text), "ql tokens", sha256.Size)
}

// Token makes a token of 256 bits that nobody can guess who does not have the master
// key. It is the same for the same account and name.
func (v *Vault) Token(account int64, name string) string {
	mac := hmac.New(sha256.New, v.tokens)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(account)))
	mac.Write([]byte(name))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Seal encrypts what an account keeps under a kind and name.
func (v *Vault) Seal(account int64, kind Kind, name string, plain []byte) ([]byte, error) {
	if account <= 0 {
		return nil, errors.New("sealing for no account")
	}
	return v.seal(account, kind, name, plain), nil
}

func (v *Vault) seal(account int64, kind Kind, name string, plain []byte) []byte {
	head := append([]byte{sealVersion}, v.id[:]...)
	return v.aead.Seal(head, nil, plain, associated(head, account, kind, name))
}

// Open decrypts what Seal made for the same account, kind and name.
func (v *Vault) Open(account int64, kind Kind, name string, sealed []byte) ([]byte, error) {
	if len(sealed) < sealHead || sealed[0] != sealVersion {
		return nil, ErrDamaged
	}
	head := sealed[:sealHead]
	aead := v.aead
	if id := [keyIDLen]byte(head[1:]); id != v.id {
		if aead = v.earlier[id]; aead == nil {
			return nil, ErrWrongKey
		}
	}
	plain, err := aead.Open(nil, nil, sealed[sealHead:], associated(head, account, kind, name))
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}

func associated(head []byte, account int64, kind Kind, name string) []byte {
	data := append([]byte(nil), head...)
	data = binary.BigEndian.AppendUint64(data, uint64(account))
	data = append(data, byte(len(kind)))
	data = append(data, kind...)
	return append(data, name...)
}

// CheckStore stores the one record that proves a master key. It is what a vault needs of
// account.Store, which says more.
type CheckStore interface {
	EnsureKeyCheck(ctx context.Context, record []byte) ([]byte, error)
}

// OpenVault returns the vault of the key in a file, after it was proven to be
// the one that the store is sealed under. Where the store has no seal yet and
// the file does not exist, it is made, unless existing says that somebody
// named a file that must be there.
func OpenVault(ctx context.Context, store CheckStore, file string, existing bool) (*Vault, error) {
	stored, err := store.EnsureKeyCheck(ctx, nil)
	if err != nil {
		return nil, err
	}
	key, err := readKeyRing(file)
	if errors.Is(err, errNoMasterKey) {
		if stored != nil {
			return nil, fmt.Errorf("the store is sealed under a master key, and the file %s is not there: put it back, or name it by --master-key-file", file)
		}
		if !existing {
			key, err = makeMasterKey(file)
		}
	}
	if err != nil {
		return nil, err
	}
	v, err := newVault(key)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		stored, err = store.EnsureKeyCheck(ctx, v.seal(0, keyCheck, "", nil))
		if err != nil {
			return nil, err
		}
	}
	if _, err := v.Open(0, keyCheck, "", stored); err != nil {
		return nil, &otherMasterKey{file, err}
	}
	return v, nil
}

// CheckMasterKey reports whether the key in a file is the one under which a
// store is sealed, whose check is record. Nil means that it is sealed under
// none yet.
func CheckMasterKey(file string, record []byte) error {
	key, err := readKeyRing(file)
	if err != nil || record == nil {
		return err
	}
	v, err := newVault(key)
	if err != nil {
		return err
	}
	if _, err := v.Open(0, keyCheck, "", record); err != nil {
		return &otherMasterKey{file, err}
	}
	return nil
}

// otherMasterKey says that a file holds another key than the store needs.
type otherMasterKey struct {
	file  string
	cause error
}

func (e *otherMasterKey) Error() string {
	return fmt.Sprintf("the master key in %s is not the one that this store is sealed under: put that one there, or name it by --master-key-file", e.file)
}

func (e *otherMasterKey) Unwrap() error { return e.cause }

package seal

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// RotationStore stores the record that proves a master key, and lets it be replaced.
type RotationStore interface {
	CheckStore
	ReplaceKeyCheck(ctx context.Context, record []byte) error
}

// Rotation is a change of the master key. From its beginning the file has the new key, which seals,
// and the one before, which still opens: so whoever starts in between reads all. When all is sealed
// under the new one, Finish takes the others out.
type Rotation struct {
	// Resumed says that it had begun earlier and was interrupted.
	Resumed bool

	store RotationStore
	file  string
	ring  keyRing
	vault *Vault
}

// BeginRotation begins to change the master key in a file, which must be the one that the store is
// sealed under, or goes on where that was interrupted. Nobody else may seal meanwhile.
func BeginRotation(ctx context.Context, store RotationStore, file string) (*Rotation, error) {
	record, err := store.EnsureKeyCheck(ctx, nil)
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, errors.New("nothing is sealed under a master key yet")
	}
	if err := CheckMasterKey(file, record); err != nil {
		return nil, err
	}
	r := &Rotation{store: store, file: file}
	if r.ring, err = readKeyRing(file); err != nil {
		return nil, err
	}
	if r.Resumed = len(r.ring.keys) > 1; !r.Resumed {
		if r.ring.tokens == nil {
			if r.ring.tokens, err = r.ring.keys[0].tokenKey(); err != nil {
				return nil, err
			}
		}
		r.ring.keys = append([]MasterKey{newMasterKey()}, r.ring.keys...)
		if err := writeKeyFile(file, r.ring.text(), os.Rename); err != nil {
			return nil, fmt.Errorf("writing the new master key: %w", err)
		}
	}
	r.vault, err = newVault(r.ring)
	return r, err
}

// Reseal seals what an account has under a kind and name under the new key; nil where it is already.
func (r *Rotation) Reseal(account int64, kind Kind, name string, sealed []byte) ([]byte, error) {
	if len(sealed) >= sealHead && [keyIDLen]byte(sealed[1:sealHead]) == r.vault.id {
		return nil, nil
	}
	plain, err := r.vault.Open(account, kind, name, sealed)
	if err != nil {
		return nil, err
	}
	return r.vault.Seal(account, kind, name, plain)
}

// Finish takes the keys before out of the file. The store is proved by the new one from then on.
func (r *Rotation) Finish(ctx context.Context) error {
	// First the store: the file opens by both keys until it is replaced.
	if err := r.store.ReplaceKeyCheck(ctx, r.vault.seal(0, keyCheck, "", nil)); err != nil {
		return err
	}
	r.ring.keys = r.ring.keys[:1]
	if err := writeKeyFile(r.file, r.ring.text(), os.Rename); err != nil {
		return fmt.Errorf("taking the earlier master key out of %s: %w", r.file, err)
	}
	return nil
}

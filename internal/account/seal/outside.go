package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

// What is handed to people outside is a version byte (1), a salt of 32 bytes, and the text in
// AES-256-GCM with its tag. Each has a key of its own, made of the salt: anybody can have as many
// made as they like, and random nonces under one key would come to meet.
const (
	outsideVersion = 1
	outsideSalt    = 32
	outsideHead    = 1 + outsideSalt
	outsideTag     = 16
)

// OutsideBytes is by how much SealOutside makes a text longer.
const OutsideBytes = outsideHead + outsideTag

// SealOutside encrypts what is handed to somebody outside, who brings it back. It stays readable
// when the master key is rotated, as tokens do.
func (v *Vault) SealOutside(account int64, name string, plain []byte) []byte {
	sealed := make([]byte, outsideHead, OutsideBytes+len(plain))
	sealed[0] = outsideVersion
	_, _ = rand.Read(sealed[1:]) // never fails
	return v.outside(account, name, sealed).Seal(sealed, make([]byte, outsideNonce), plain, nil)
}

// OpenOutside decrypts what SealOutside made for the same account and name; ErrDamaged where
// it did not.
func (v *Vault) OpenOutside(account int64, name string, sealed []byte) ([]byte, error) {
	if len(sealed) < OutsideBytes || sealed[0] != outsideVersion {
		return nil, ErrDamaged
	}
	plain, err := v.outside(account, name, sealed[:outsideHead]).Open(nil, make([]byte, outsideNonce), sealed[outsideHead:], nil)
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}

// outsideNonce is that of one message: each key encrypts one.
const outsideNonce = 12

// outside returns the cipher of what begins with a head.
func (v *Vault) outside(account int64, name string, head []byte) cipher.AEAD {
	mac := hmac.New(sha256.New, v.tokens)
	mac.Write([]byte("outside\x00"))
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(account)))
	mac.Write(head)
	mac.Write([]byte(name))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		panic(err) // of the length of a key, which is that of the hash
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // of the size of a block
	}
	return aead
}

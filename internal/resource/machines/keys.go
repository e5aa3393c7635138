package machines

import (
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"io"
	"strings"

	"ql/internal/fault"
	"ql/internal/redacted"

	"golang.org/x/crypto/ssh"
)

// maxKey is how long a private key may be, as PEM.
const maxKey = 16 << 10

// minRSA is how many bits a key of RSA has at least.
const minRSA = 2048

// newKey makes a key to log in by: the private half as PEM, and the public one as a line of
// authorized_keys.
func newKey(random io.Reader, comment string) (private []byte, public string, err error) {
	_, key, err := ed25519.GenerateKey(random)
	if err != nil {
		return nil, "", err
	}
	block, err := ssh.MarshalPrivateKey(key, comment)
	if err != nil {
		return nil, "", err
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return nil, "", err
	}
	return pem.EncodeToMemory(block), publicLine(signer.PublicKey()) + " " + comment, nil
}

// readKey reads a private key that its owner brings, and returns its public half.
func readKey(text redacted.Text) (public string, err error) {
	if len(text) > maxKey {
		return "", fault.Invalid("key", "the key has %d bytes: at most %d fit", len(text), maxKey)
	}
	key, err := ssh.ParseRawPrivateKey([]byte(text.Reveal()))
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return "", fault.Invalid("key", "the key is locked by a passphrase: bring one without, as ssh-keygen -p makes it")
	case err != nil:
		return "", fault.Invalid("key", "this is no private key as ssh-keygen makes it")
	}
	if weak, ok := key.(*rsa.PrivateKey); ok && weak.N.BitLen() < minRSA {
		return "", fault.Invalid("key", "the key has %d bits: keys of RSA have at least %d", weak.N.BitLen(), minRSA)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return "", fault.Invalid("key", "keys of this kind are not taken: ed25519, ecdsa and rsa fit")
	}
	return publicLine(signer.PublicKey()), nil
}

// publicLine writes a public key as a line of authorized_keys.
func publicLine(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// readHostKey reads the key of a host that its owner knows, and returns it as it is pinned.
func readHostKey(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	const most = 4 << 10
	if len(text) > most {
		return "", fault.Invalid("host_key", "the key of a host has at most %d bytes", most)
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return "", fault.Invalid("host_key", "this is no key of a host such as \"ssh-ed25519 AAAA…\", as ssh-keyscan writes it behind the host's name")
	}
	return publicLine(key), nil
}

// Fingerprint is what people compare keys by; "" for none.
func Fingerprint(line string) string {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return ""
	}
	return ssh.FingerprintSHA256(key)
}

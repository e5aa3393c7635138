package tlscert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// keyPair is a certificate and its private key in files, which somebody renews now and
// then.
type keyPair struct {
	cert, key string
	clock     func() time.Time
	failed    func(error) // called where new files are no certificate

	mu     sync.Mutex
	loaded *tls.Certificate
	when   time.Time // it was loaded
}

// reloadAfter is how soon a new certificate is used.
const reloadAfter = time.Minute

// load reads the files. The error names the setting whose file is wrong.
func (c *keyPair) load() error {
	cert, err := readPEM("tls-cert", c.cert)
	if err != nil {
		return err
	}
	key, err := readPEM("tls-key", c.key)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return c.explain(cert, key)
	}
	c.loaded, c.when = &pair, c.clock()
	return nil
}

// notAfter returns when the certificate in use expires.
func (c *keyPair) notAfter() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded.Leaf.NotAfter
}

// readPEM reads the file of a setting.
func readPEM(setting, name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	var at *fs.PathError
	if errors.As(err, &at) {
		return nil, fmt.Errorf("%s: %s: %w", setting, name, at.Err)
	}
	return text, err
}

// explain says which of two files that give no certificate is wrong, and why.
func (c *keyPair) explain(cert, key []byte) error {
	const (
		certificates = "CERTIFICATE"
		keys         = "PRIVATE KEY" // with or without a word before it
	)
	first := findPEM(cert, certificates)
	switch {
	case first == nil && findPEM(cert, keys) != nil:
		return fmt.Errorf("tls-cert: %s holds a private key and no certificate: that is the file for tls-key", c.cert)
	case first == nil:
		return fmt.Errorf("tls-cert: %s holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----", c.cert)
	case findPEM(key, "ENCRYPTED "+keys) != nil || bytes.Contains(key, []byte("\nProc-Type: 4,ENCRYPTED")):
		return fmt.Errorf("tls-key: the private key in %s is locked by a passphrase: store it without one, in a file that only the service can read", c.key)
	case findPEM(key, keys) == nil && findPEM(key, certificates) != nil:
		return fmt.Errorf("tls-key: %s holds a certificate and no private key: that is the file for tls-cert", c.key)
	case findPEM(key, keys) == nil:
		return fmt.Errorf("tls-key: %s holds no private key in PEM, which begins with -----BEGIN PRIVATE KEY-----", c.key)
	}
	if _, err := x509.ParseCertificate(first.Bytes); err != nil {
		return fmt.Errorf("tls-cert: the first certificate in %s is damaged", c.cert)
	}
	if !readableKey(findPEM(key, keys).Bytes) {
		return fmt.Errorf("tls-key: the private key in %s is damaged, or of a kind that TLS does not use", c.key)
	}
	return fmt.Errorf("tls-key: the private key in %s is not that of the first certificate in %s", c.key, c.cert)
}

// findPEM returns the first block of a kind, or nil.
func findPEM(text []byte, kind string) *pem.Block {
	for {
		block, after := pem.Decode(text)
		if block == nil || strings.HasSuffix(block.Type, kind) {
			return block
		}
		text = after
	}
}

func readableKey(der []byte) bool {
	_, pkcs8 := x509.ParsePKCS8PrivateKey(der)
	_, pkcs1 := x509.ParsePKCS1PrivateKey(der)
	_, ec := x509.ParseECPrivateKey(der)
	return pkcs8 == nil || pkcs1 == nil || ec == nil
}

// getCertificate implements tls.Config.GetCertificate. While files are being replaced
// the certificate from before is used.
func (c *keyPair) getCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	loaded, err := c.current()
	if err != nil {
		c.failed(err)
	}
	return loaded, nil
}

// isFor tells whether the certificate is for a name.
func (c *keyPair) isFor(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return name != "" && c.loaded.Leaf.VerifyHostname(name) == nil
}

// current returns the certificate to be used, and why a newer one could not be read.
func (c *keyPair) current() (_ *tls.Certificate, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock(); now.Sub(c.when) >= reloadAfter {
		c.when = now
		err = c.load()
	}
	return c.loaded, err
}

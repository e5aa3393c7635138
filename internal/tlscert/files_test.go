package tlscert

import (
	"bytes"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/tlscert/tlscerttest"
)

// TestRenewedCertificate: a certificate that somebody renews is used a minute
// later, and files that are broken meanwhile change nothing.
func TestRenewedCertificate(t *testing.T) {
	folder := t.TempDir()
	tlscerttest.Write(t, folder, 1)
	now := time.Now()
	c := &keyPair{cert: filepath.Join(folder, "cert.pem"), key: filepath.Join(folder, "key.pem"), clock: func() time.Time { return now }}
	var log bytes.Buffer
	r := &Monitor{log: slog.New(slog.NewTextHandler(&log, nil)), clock: c.clock, notAfter: c.notAfter}
	c.failed = r.failed
	if err := c.load(); err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		pair, err := c.getCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.Int64()
	}
	tlscerttest.Write(t, folder, 2)
	if got := serial(); got != 1 {
		t.Errorf("at once it is number %d", got)
	}
	now = now.Add(reloadAfter)
	if got := serial(); got != 2 {
		t.Errorf("later it is number %d", got)
	}
	if err := os.WriteFile(c.cert, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(reloadAfter)
	if got := serial(); got != 2 {
		t.Errorf("while the file is broken it is number %d", got)
	}
	// It is told, once an hour, and counted each time.
	for range 120 {
		now = now.Add(30 * time.Second)
		serial()
	}
	if told := strings.Count(log.String(), "could not be renewed"); told != 2 || r.failures.Load() != 61 || !strings.Contains(log.String(), "holds no certificate in PEM") {
		t.Errorf("of %d failures %d are told:\n%s", r.failures.Load(), told, log.String())
	}
	if days := r.DaysLeft(); days != math.Floor(c.notAfter().Sub(now).Hours()/24*100)/100 {
		t.Errorf("%v days are left", days)
	}
	tlscerttest.Write(t, folder, 3)
	now = now.Add(reloadAfter)
	if got := serial(); got != 3 || r.failures.Load() != 61 {
		t.Errorf("when the file is right it is number %d, after %d failures", got, r.failures.Load())
	}
}

// TestWrongCertificates: the error names the file that is wrong.
func TestWrongCertificates(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	tlscerttest.Write(t, folder, 1)
	tlscerttest.Write(t, other, 2)
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	write := func(name, text string) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	text, locked := write("text", "text"), write("locked", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
	badCert := write("bad-cert", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	badKey := write("bad-key", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")
	none, otherKey := filepath.Join(folder, "none"), filepath.Join(other, "key.pem")
	for name, test := range map[string]struct{ cert, key, want string }{
		"no certificate file":      {none, key, "tls-cert: " + none + ": no such file or directory"},
		"no key file":              {cert, none, "tls-key: " + none + ": no such file or directory"},
		"a folder":                 {folder, key, "tls-cert: " + folder + ": is a directory"},
		"a text":                   {text, key, "tls-cert: " + text + " holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----"},
		"a text for a key":         {cert, text, "tls-key: " + text + " holds no private key in PEM, which begins with -----BEGIN PRIVATE KEY-----"},
		"a key for a certificate":  {key, key, "tls-cert: " + key + " holds a private key and no certificate: that is the file for tls-key"},
		"a certificate for a key":  {cert, cert, "tls-key: " + cert + " holds a certificate and no private key: that is the file for tls-cert"},
		"a locked key":             {cert, locked, "tls-key: the private key in " + locked + " is locked by a passphrase: store it without one, in a file that only the service can read"},
		"a damaged certificate":    {badCert, key, "tls-cert: the first certificate in " + badCert + " is damaged"},
		"a damaged key":            {cert, badKey, "tls-key: the private key in " + badKey + " is damaged, or of a kind that TLS does not use"},
		"files that do not belong": {cert, otherKey, "tls-key: the private key in " + otherKey + " is not that of the first certificate in " + cert},
	} {
		c := &keyPair{cert: test.cert, key: test.key, clock: time.Now}
		if err := c.load(); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

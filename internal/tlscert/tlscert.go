// Package tlscert has the certificates that a server shows its callers: read from files,
// or obtained from an ACME authority, and renewed while it runs. Who listens is left to
// others.
package tlscert

import (
	"crypto/tls"
	"log/slog"
	"time"
)

// Options say where certificates come from: from files, or from an ACME authority where
// domains are given.
type Options struct {
	CertFile, KeyFile string // the settings tls-cert and tls-key

	Domains []string
	Email   string // of whom the authority writes to; may be empty
	Folder  string // where obtained certificates are stored

	Log   *slog.Logger
	Clock func() time.Time
}

// Open returns how connections are encrypted, and what watches the certificates.
func Open(o Options) (*tls.Config, *Monitor, error) {
	monitor := &Monitor{log: o.Log, clock: o.Clock}
	var config *tls.Config
	if len(o.Domains) > 0 {
		config = monitor.watch(newManager(o.Domains, o.Email, o.Folder), o.Domains)
	} else {
		pair := &keyPair{cert: o.CertFile, key: o.KeyFile, clock: o.Clock, failed: monitor.failed}
		if err := pair.load(); err != nil {
			return nil, nil, err
		}
		monitor.notAfter = pair.notAfter
		config = &tls.Config{GetCertificate: pair.getCertificate}
	}
	config.MinVersion = tls.VersionTLS12
	return config, monitor, nil
}

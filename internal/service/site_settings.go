package service

import (
	"context"
	"io"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/site"
	"ql/internal/wire"
)

// SiteFault is a mistake in a file of a site. Visitors are told the reference alone, by which
// the owner finds the job that says what is wrong; Mistake is for a developer.
type SiteFault struct {
	Reference string
	Mistake   wire.Error
}

// Error implements error.
func (f *SiteFault) Error() string { return "a file of the site has a mistake: " + f.Reference }

// siteSettings are the settings of sites that were read lately. Which file they are of is known by
// when it was written.
type siteSettings struct {
	mu    sync.Mutex
	known map[settingsKey]settingsEntry
	bytes int64 // of their texts
}

type settingsKey struct {
	account  account.ID
	modified int64
	size     int64
}

type settingsEntry struct {
	settings *site.Settings
	err      error
}

// mostSettingsBytes is how much text the settings may be of that are remembered.
const mostSettingsBytes = 4 << 20

func (c *siteSettings) find(k settingsKey) (settingsEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known[k]
	return e, ok
}

func (c *siteSettings) put(k settingsKey, e settingsEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const each = 1 << 10 // about what one takes besides
	if c.bytes += k.size + each; c.known == nil || c.bytes > mostSettingsBytes {
		c.known, c.bytes = map[settingsKey]settingsEntry{}, k.size+each
	}
	c.known[k] = e
}

// readSettings returns what a site says of itself, by its file, where there is one.
func (v *Site) readSettings(ctx context.Context, file engine.FileInfo) (*site.Settings, error) {
	if file.Path == "" || file.Folder {
		return site.Defaults(), nil
	}
	s := v.service
	key := settingsKey{v.account.ID, file.Modified.UnixMicro(), file.Size}
	if known, ok := s.siteSettings.find(key); ok {
		return known.settings, known.err
	}
	text, err := v.readText(ctx, file)
	if err != nil {
		return nil, err
	}
	settings, err := site.ParseSettings(text)
	if err != nil {
		err = s.recordSiteFault(ctx, v.account.ID, wire.Error{Code: string(fault.SyntaxError), Message: err.Error(), File: site.SettingsPath})
	}
	s.siteSettings.put(key, settingsEntry{settings, err})
	return settings, err
}

// readText reads a small file; of one that is too large, what tells so.
func (v *Site) readText(ctx context.Context, file engine.FileInfo) ([]byte, error) {
	content, err := v.tree.Open(ctx, file.Path)
	if err != nil {
		return nil, missingPage(err)
	}
	defer func() { _ = content.Close() }() // it was only read
	text := make([]byte, min(content.Size(), site.MaxSettings+1))
	_, err = io.ReadFull(content, text)
	return text, err
}

// recordSiteFault records a mistake in a file of a site, which no script tells of, as a job that
// failed, for its owner to find.
func (s *Service) recordSiteFault(ctx context.Context, a account.ID, mistake wire.Error) error {
	id, now := s.o.NewID(), s.o.Clock().UTC().Truncate(time.Microsecond)
	r := job.NewRecord(job.Summary{
		ID: id, Account: a, Mode: job.Sync, Convention: job.Site, Credential: principal.ByNobody, Created: now,
	}, job.Failed, now, job.Progress{}, mistake.AppendJSON(nil))
	r.Call.Name = mistake.File
	s.record(ctx, r)
	return &SiteFault{Reference: JobReference(id.String()), Mistake: mistake}
}

// JobReference is by what people name a job who are not to open it: the beginning of its id, which
// the log shows too.
func JobReference(id string) string {
	const shown = 8
	return id[:min(shown, len(id))]
}

package relational

import (
	"errors"
	"slices"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/resource/files"
	"ql/internal/resource/shares"
)

// holdFiles has a job hold content of its account's files, in place of what it held before. It
// is job.ErrHeldLimit where there is no room for all of it.
func (t tx) holdFiles(l job.Lease, h *job.HeldFiles) error {
	contents := make([]shares.Content, 0, len(h.Refs))
	for _, ref := range h.Refs {
		r, err := files.ParseRef(ref)
		if err != nil {
			return err
		}
		if len(r.Chunks) > 0 { // else all of it is in the reference
			contents = append(contents, contentOf(r))
		}
	}
	var wanted []int64
	for i := range contents {
		seq, err := t.pinned(l.Account, contents[i].Digest)
		if err != nil {
			return err
		}
		wanted = append(wanted, seq)
	}
	if err := t.letGo(l.Seq, wanted); err != nil {
		return err
	}
	for i := range contents {
		if err := t.holdContent(l, h, contents[i]); err != nil {
			return err
		}
	}
	return nil
}

func contentOf(r files.Ref) shares.Content {
	c := shares.Content{Size: int64(len(r.Tail)), Tail: r.Tail}
	for _, chunk := range r.Chunks {
		c.Size += chunk.Size
		c.Chunks = append(c.Chunks, shares.Chunk{Hash: shares.Hash(chunk.Hash), Size: chunk.Size})
	}
	setDigest(&c)
	return c
}

// letGo ends a job's hold on content, but for some.
func (t tx) letGo(seq int64, but []int64) error {
	var over []int64
	if err := t.each("SELECT content FROM job_contents WHERE job = ?", func(r row) {
		if content := r.int(0); !slices.Contains(but, content) {
			over = append(over, content)
		}
	}, seq); err != nil {
		return err
	}
	for _, content := range over {
		if _, err := t.exec("DELETE FROM job_contents WHERE job = ? AND content = ?", seq, content); err != nil {
			return err
		}
		// Links let go of content when they are pruned, since a broken download may begin
		// again. A job needs none any more.
		if _, err := t.dropShareContents("SELECT seq, account FROM share_contents WHERE seq = ? AND "+unheld, content); err != nil {
			return err
		}
	}
	return nil
}

func (t tx) holdContent(l job.Lease, h *job.HeldFiles, c shares.Content) error {
	seq, err := t.pinned(l.Account, c.Digest)
	if err == nil && seq == 0 {
		seq, err = t.pinForJob(l.Account, h, c)
	}
	if err != nil || seq == 0 {
		return err
	}
	_, err = t.exec("INSERT INTO job_contents (job, content) VALUES (?, ?) ON CONFLICT DO NOTHING", l.Seq, seq)
	return err
}

// pinForJob keeps content that may be no file's any more; 0 where some of it is gone.
func (t tx) pinForJob(a account.ID, h *job.HeldFiles, c shares.Content) (seq int64, err error) {
	for i := range c.Chunks {
		there, err := t.has("SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM blob_deletions WHERE hash = ?1) AND (EXISTS (SELECT 1 FROM dead_blobs WHERE hash = ?1) OR EXISTS ("+references+"))", c.Chunks[i].Hash[:])
		if err != nil || !there {
			return 0, err
		}
	}
	err = t.makeRoom(shares.CreateParams{Account: a, Bounds: shares.Bounds{Bytes: h.MostBytes}, Made: h.At}, c)
	var size *shares.SizeError
	if errors.As(err, &size) {
		err = job.ErrHeldLimit
	}
	if err != nil {
		return 0, err
	}
	return t.pin(a, c)
}

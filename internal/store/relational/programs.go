package relational

import (
	"math"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// forever is a moment that nothing stored is later than.
var forever = time.UnixMicro(math.MaxInt64)

// programsAtOnce is how many programs of an account are looked at for those that
// can make way.
const programsAtOnce = 10_000

// storeProgram stores the program of a task, unless it is there, and returns how
// large it is.
func (t tx) storeProgram(task *job.Task) (bytes int64, err error) {
	if task.Code == nil && task.Program == ([32]byte{}) {
		return 0, nil // it runs none
	}
	found, err := t.one("SELECT length(code) FROM programs WHERE hash = ?", func(r row) { bytes = r.int(0) }, task.Program[:])
	switch {
	case err != nil:
		return 0, err
	case found && task.Code == nil:
		return bytes, nil
	case found:
		_, err = t.exec("UPDATE programs SET used = CASE WHEN used > ?1 THEN used ELSE ?1 END WHERE hash = ?2", task.Created, task.Program[:])
		return bytes, err
	case task.Code == nil:
		return 0, job.ErrNoProgram
	}
	bytes = int64(len(task.Code))
	if err := t.roomForProgram(task.Account, bytes, task.MostPrograms); err != nil {
		return 0, err
	}
	if _, err = t.exec("INSERT INTO programs (hash, used, code, account) VALUES (?, ?, ?, ?)", task.Program[:], task.Created, task.Code, int64(task.Account)); err != nil {
		return 0, err
	}
	return bytes, t.countPrograms(int64(task.Account), bytes)
}

// countPrograms counts bytes of an account's programs that were added, or removed
// where there are fewer than before.
func (t tx) countPrograms(a, more int64) error {
	_, err := t.exec(`INSERT INTO kept (account, standing, standing_bytes, sessions, programs) VALUES (?1, 0, 0, 0, ?2)
		ON CONFLICT (account) DO UPDATE SET programs = kept.programs + ?2`, a, more)
	return err
}

// dropProgram removes a program that was last used before a moment, and reports
// whether there was one.
func (t tx) dropProgram(hash []byte, before time.Time) (bool, error) {
	var owner, bytes int64 // no owner where it is older than that was noted, or where that is gone
	found, err := t.one(`DELETE FROM programs WHERE hash = ? AND used < ? RETURNING coalesce((SELECT id FROM accounts WHERE id = programs.account), 0), length(code)`,
		func(r row) { owner, bytes = r.int(0), r.int(1) }, hash, before)
	if err == nil && owner != 0 {
		err = t.countPrograms(owner, -bytes)
	}
	return found, err
}

// roomForProgram makes room for a program of an account: those that no job needs
// go, the longest unused first.
func (t tx) roomForProgram(a account.ID, bytes, most int64) error {
	if most == 0 {
		return nil
	}
	over := bytes - most
	if _, err := t.one("SELECT programs FROM kept WHERE account = ?", func(r row) { over += r.int(0) }, int64(a)); err != nil || over <= 0 {
		return err
	}
	type program struct {
		hash []byte
		size int64
	}
	var unneeded []program
	err := t.each(`SELECT hash, length(code) FROM programs WHERE account = ? AND hash NOT IN (`+neededPrograms+`) ORDER BY used LIMIT ?`,
		func(r row) { unneeded = append(unneeded, program{r.bytes(0), r.int(1)}) }, int64(a), programsAtOnce)
	if err != nil {
		return err
	}
	for _, p := range unneeded {
		if over <= 0 {
			break
		}
		if _, err := t.dropProgram(p.hash, forever); err != nil {
			return err
		}
		over -= p.size
	}
	if over > 0 {
		return job.ErrStorageLimit
	}
	return nil
}

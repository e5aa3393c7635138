package crashtest

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// disk is an ext4 file system of the test's own, in a file, whose power can be cut.
type disk struct {
	t     *testing.T
	image string
	at    string
}

// newDisk makes and mounts a disk; nil where this machine does not let a test do so.
func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{t: t, image: filepath.Join(t.TempDir(), "disk.img"), at: filepath.Join(t.TempDir(), "disk")}
	check(t, os.Mkdir(d.at, 0o700))
	file, err := os.Create(d.image)
	check(t, err)
	check(t, file.Truncate(1<<30))
	check(t, file.Close())
	if out, err := exec.CommandContext(t.Context(), "mkfs.ext4", "-q", d.image).CombinedOutput(); err != nil {
		t.Logf("NOT CHECKED: no file system can be made here: %v %s", err, out)
		return nil
	}
	if out, err := d.mount(); err != nil {
		t.Logf("NOT CHECKED: no file system can be mounted here: %v %s", err, out)
		return nil
	}
	t.Cleanup(func() {
		// What holds it has ended by now.
		if out, err := exec.Command("umount", d.at).CombinedOutput(); err != nil { //nolint:noctx // the test's context has ended
			t.Errorf("%v %s", err, out)
		}
	})
	return d
}

func (d *disk) mount() ([]byte, error) {
	return exec.CommandContext(d.t.Context(), "mount", "-o", "loop", d.image, d.at).CombinedOutput()
}

// shutdown is EXT4_IOC_SHUTDOWN, and withoutFlush its flag to leave out what the file
// system's own log has not written yet.
const (
	shutdown     = 0x8004587d
	withoutFlush = 2
)

// cut cuts the power: some pages that no flush asked for have reached the disk by then, in
// whatever order, and nothing does afterwards.
func (d *disk) cut() {
	d.t.Helper()
	_ = filepath.WalkDir(d.at, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || rand.IntN(2) == 0 {
			return nil //nolint:nilerr // files come and go
		}
		if file, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			if info, err := file.Stat(); err == nil && info.Size() > 0 {
				from := rand.Int64N(info.Size())
				const now = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
				_ = unix.SyncFileRange(int(file.Fd()), from, rand.Int64N(info.Size()-from+1), now) // it need not
			}
			_ = file.Close()
		}
		return nil
	})
	root, err := os.Open(d.at)
	check(d.t, err)
	check(d.t, unix.IoctlSetPointerInt(int(root.Fd()), shutdown, withoutFlush))
	check(d.t, root.Close())
}

// restore gives the power back, with what had reached the disk.
func (d *disk) restore() {
	d.t.Helper()
	if out, err := exec.CommandContext(d.t.Context(), "umount", d.at).CombinedOutput(); err != nil {
		d.t.Fatalf("%v %s", err, out)
	}
	if out, err := d.mount(); err != nil {
		d.t.Fatalf("%v %s", err, out)
	}
}

// TestPromisePowerCuts cuts the power of the disk at random moments under many clients:
// every job that was accepted is done exactly once, one whose caller got no answer at most
// once, and the server starts each time by itself.
func TestPromisePowerCuts(t *testing.T) {
	d := newDisk(t)
	if d == nil {
		return
	}
	l := newLedger(newServerIn(t, filepath.Join(d.at, "data")))
	l.mayMiss = true
	cut := func() {
		if rand.IntN(2) == 0 { // the server learns of it, and answers for a moment, or does not start
			d.cut()
			l.cutOff()
		} else {
			l.kill()
			d.cut()
		}
		d.restore()
	}
	l.under(16, int64(count(2, 100)), int64(count(40, 2000)), func() {
		cut()
		l.spawn()
	})
	if t.Failed() {
		return
	}
	cut()
	l.start()
	l.audit()
	l.stop()
}

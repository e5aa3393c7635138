package ssh_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/internal/engine"
	"ql/internal/programtest"
	"ql/internal/redacted"
	"ql/internal/resource/machines"
	"ql/internal/resource/machines/ssh"
	"ql/internal/resource/machines/sshtest"

	"github.com/pkg/sftp"
	bare "golang.org/x/crypto/ssh"
)

// TestPromiseWarm: beside the bare library, in turns on connections that are open: a command takes no
// more than 1.3 times as long, and a copy has 70 % of the speed at least. Both set QL_STEP_KEY.
func TestPromiseWarm(t *testing.T) {
	commands, copies, size := 10, 1, 1<<20
	if programtest.Promised() {
		commands, copies, size = 300, 15, 64<<20
	}
	w := newWorld(t, ssh.Options{}, sshtest.Start(t, "AcceptEnv QL_STEP_KEY"))
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	block, err := bare.MarshalPrivateKey(private, "")
	check(t, err)
	m, _, err := w.registry.Put(t.Context(), ada, w.limits, "box", machines.Definition{Kind: machines.KindSSH, Address: w.server.Address(), Key: redacted.Text(pem.EncodeToMemory(block))})
	check(t, err)
	w.server.Authorize(m.SSH.PublicKey)
	client := dialBare(t, w.server, private)
	content := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	file := filepath.Join(w.server.Folder, "copied")

	command := func() {
		r, err := w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "echo hello"}, Env: map[string]string{engine.StepKey: "k"}})
		if err != nil || string(r.Stdout) != "hello\n" {
			t.Fatalf("%v %q", err, r.Stdout)
		}
	}
	bareCommand := func() {
		s, err := client.NewSession()
		check(t, err)
		check(t, s.Setenv(engine.StepKey, "k"))
		out, err := s.Output("echo hello")
		if err != nil || string(out) != "hello\n" {
			t.Fatalf("%v %q", err, out)
		}
	}
	to := func() { check(t, w.machines().CopyTo(t.Context(), "box", file, bytes.NewReader(content))) }
	from := func() {
		n := counter(0)
		check(t, w.machines().CopyFrom(t.Context(), "box", file, &n))
		if int(n) != size {
			t.Fatalf("%d bytes came back", n)
		}
	}
	withBare := func(do func(*sftp.Client) error) {
		files, err := sftp.NewClient(client, sftp.UseConcurrentWrites(true))
		check(t, err)
		check(t, do(files))
		check(t, files.Close())
	}
	bareTo := func() {
		withBare(func(files *sftp.Client) error {
			f, err := files.Create(file)
			check(t, err)
			_, err = f.ReadFrom(bytes.NewReader(content))
			check(t, err)
			return f.Close()
		})
	}
	bareFrom := func() {
		withBare(func(files *sftp.Client) error {
			f, err := files.Open(file)
			check(t, err)
			n := counter(0)
			_, err = f.WriteTo(&n)
			check(t, err)
			return f.Close()
		})
	}
	for _, one := range []struct {
		what       string
		times      int
		ours, bare func()
		most       float64 // times as long
	}{
		{"a command", commands, command, bareCommand, 1.3},
		{"a copy to the host", copies, to, bareTo, 1 / 0.7},
		{"a copy from the host", copies, from, bareFrom, 1 / 0.7},
	} {
		one.ours()
		one.bare()
		var took, bareTook []time.Duration
		for range one.times {
			took = append(took, measure(one.ours))
			bareTook = append(bareTook, measure(one.bare))
		}
		slices.Sort(took)
		slices.Sort(bareTook)
		ours, theirs := took[one.times/2], bareTook[one.times/2]
		ratio := float64(ours) / float64(theirs)
		t.Logf("%s, medians of %d: %v, by the bare library %v: %.2f times", one.what, one.times, ours, theirs, ratio)
		if programtest.Promised() && ratio > one.most {
			t.Errorf("%s takes %.2f times as long as by the bare library", one.what, ratio)
		}
	}
}

func measure(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dialBare logs in by the library alone.
func dialBare(t *testing.T, server *sshtest.Server, key ed25519.PrivateKey) *bare.Client {
	t.Helper()
	signer, err := bare.NewSignerFromKey(key)
	check(t, err)
	user, address, _ := strings.Cut(server.Address(), "@")
	client, err := bare.Dial("tcp", address, &bare.ClientConfig{User: user, Auth: []bare.AuthMethod{bare.PublicKeys(signer)}, HostKeyCallback: bare.InsecureIgnoreHostKey(), Timeout: 20 * time.Second})
	check(t, err)
	t.Cleanup(func() { _ = client.Close() }) // which the server may have done
	return client
}

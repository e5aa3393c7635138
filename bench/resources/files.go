package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ql/bench/load"
)

// What is done with the file.
const (
	copied   = "plain copy with hash to disk"
	uploaded = "upload over HTTP"
	fetched  = "download over HTTP"
)

// measureFiles sends a large file and fetches it, beside a plain copy of as many
// bytes to the disk with their hash.
func measureFiles(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	s, err := load.StartService(ctx, o.load)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	f := &fileBench{service: s, size: o.size}
	// A small one first: what the service holds for good is no part of the rest.
	if err := f.small(ctx); err != nil {
		return err
	}
	before := peakMemory(s.PID)
	ways := []struct {
		name string
		do   func(context.Context, int) error
	}{{copied, f.copy}, {uploaded, f.upload}, {fetched, f.fetch}}
	rates := map[string][]float64{}
	for round := range o.rounds {
		fmt.Fprintf(stderr, "files: round %d of %d\n", round+1, o.rounds)
		for _, way := range ways {
			began := time.Now()
			if err := way.do(ctx, round); err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			rates[way.name] = append(rates[way.name], float64(o.size)/(1<<20)/time.Since(began).Seconds())
		}
	}
	sent, got, err := f.sums(ctx, o.rounds-1)
	if err != nil {
		return err
	}
	if !bytes.Equal(sent, got) {
		return errors.New("another content came back than the one that was sent")
	}
	fmt.Fprintf(stdout, "A file of %d MiB\n\n| | MiB/s | of the plain copy |\n|---|---|---|\n", o.size>>20)
	for _, way := range ways {
		fmt.Fprintf(stdout, "| %s | %.0f | %.0f %% |\n", way.name, load.Median(rates[way.name]), 100*load.Ratio(rates[way.name], rates[copied]))
	}
	fmt.Fprintf(stdout, "\nPeak memory of the service: %s MiB before, %s MiB in the end\n", shownMiB(before), shownMiB(peakMemory(s.PID)))
	return nil
}

// fileBench is a service with a file on its way.
type fileBench struct {
	service *load.Service
	size    int64
}

// numbered gives bytes of which no two blocks are alike: every chunk of them is
// a blob of its own.
type numbered struct {
	block [64 << 10]byte
	at    int64 // in all
	size  int64
}

func (f *fileBench) source(round int) *numbered {
	n := &numbered{size: f.size}
	for i := range n.block {
		n.block[i] = byte(i*i>>3 + round)
	}
	return n
}

// Read implements io.Reader.
func (n *numbered) Read(p []byte) (int, error) {
	if n.at == n.size {
		return 0, io.EOF
	}
	within := n.at % int64(len(n.block))
	if within == 0 {
		binary.BigEndian.PutUint64(n.block[:], uint64(n.at))
	}
	c := copy(p[:min(int64(len(p)), n.size-n.at)], n.block[within:])
	n.at += int64(c)
	return c, nil
}

// copy writes the file to the disk the plain way.
func (f *fileBench) copy(_ context.Context, round int) (err error) {
	file, err := os.Create(filepath.Join(f.service.Data, "plain"))
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(io.MultiWriter(file, sha256.New()), struct{ io.Reader }{f.source(round)}, make([]byte, 256<<10))
	return errors.Join(err, file.Sync(), file.Close(), os.Remove(file.Name()))
}

// address is where a file is.
func (f *fileBench) address(name string) string {
	return "http://" + f.service.Address + "/v1/files/" + name
}

func (f *fileBench) call(ctx context.Context, method, name string, body io.Reader, size int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, f.address(name), body)
	if err != nil {
		return nil, err
	}
	request.ContentLength = size
	request.SetBasicAuth(f.service.Password.Username, f.service.Password.Password)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		text, err := io.ReadAll(response.Body)
		return nil, errors.Join(fmt.Errorf("%s answers %d %s", method, response.StatusCode, text), err, response.Body.Close())
	}
	return response, nil
}

func (f *fileBench) small(ctx context.Context) error {
	response, err := f.call(ctx, http.MethodPut, "small", bytes.NewReader(make([]byte, 1<<20)), 1<<20)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (f *fileBench) upload(ctx context.Context, round int) error {
	response, err := f.call(ctx, http.MethodPut, "large", f.source(round), f.size)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// fetch reads the file to its end. The service checks all of it on the way.
func (f *fileBench) fetch(ctx context.Context, _ int) error {
	response, err := f.call(ctx, http.MethodGet, "large", nil, 0)
	if err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, response.Body, make([]byte, 256<<10))
	if err = errors.Join(err, response.Body.Close()); err == nil && n != f.size {
		err = fmt.Errorf("%d bytes came, not %d", n, f.size)
	}
	return err
}

// sums returns the hash of what is sent and of what comes back.
func (f *fileBench) sums(ctx context.Context, round int) (sent, got []byte, err error) {
	all := []hash.Hash{sha256.New(), sha256.New()}
	if _, err := io.Copy(all[0], f.source(round)); err != nil {
		return nil, nil, err
	}
	response, err := f.call(ctx, http.MethodGet, "large", nil, 0)
	if err != nil {
		return nil, nil, err
	}
	_, err = io.Copy(all[1], response.Body)
	return all[0].Sum(nil), all[1].Sum(nil), errors.Join(err, response.Body.Close())
}

// peakMemory returns the most memory that a process ever had, in KiB; 0 where
// the system does not tell.
func peakMemory(pid int) int64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("\nVmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func shownMiB(kib int64) string {
	if kib == 0 {
		return "unknown"
	}
	return strconv.FormatInt(kib>>10, 10)
}

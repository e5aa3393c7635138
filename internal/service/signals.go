package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
)

// MaxSignalBytes is how large the body of a signal is: its data, and 4 KiB around them.
const MaxSignalBytes = engine.MaxSignalBytes + 4<<10

// Signal is what a program tells a job at its address for signals.
type Signal struct {
	Name string
	Data string // JSON; "" for none
	ID   string // of the body, and Key of the header, which counts where both are there: by them a repeat is told; "" for none
	Key  string
}

// sealedSignal is what tokens of signals are sealed as. The account is a part of what is sealed, so that an
// address tells nothing.
const sealedSignal = "signal"

// SignalURL is where programs tell a job something.
func (s *Service) SignalURL(a account.ID, id job.ID) string {
	plain := append(binary.BigEndian.AppendUint64(nil, uint64(a)), id[:]...)
	return s.o.URLs.API + "/v1/signals/" + base64.RawURLEncoding.EncodeToString(s.o.Pages.SealOutside(0, sealedSignal, plain))
}

// longestSignalToken bounds what is looked at of an address.
const longestSignalToken = 200

// openSignal returns the job of an address.
func (s *Service) openSignal(text string) (a account.ID, id job.ID, ok bool) {
	if len(text) > longestSignalToken {
		return 0, id, false
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return 0, id, false
	}
	plain, err := s.o.Pages.OpenOutside(0, sealedSignal, sealed)
	if err != nil || len(plain) != 8+len(id) {
		return 0, id, false
	}
	copy(id[:], plain[8:])
	return account.ID(binary.BigEndian.Uint64(plain)), id, true
}

// signalRate is how often a job is told something from outside, and signalsRate how often all jobs of an
// account are: each signal is a change of the store.
var (
	signalRate  = admit.Rate{Name: "signals", Count: 120, Per: time.Minute, Burst: 60}
	signalsRate = admit.Rate{Name: "account_signals", Count: 1200, Per: time.Minute, Burst: 600}
)

// Signal tells a job something, and reports whether it was told before. The token is all that proves who
// calls.
func (s *Service) Signal(ctx context.Context, c Caller, token string, g Signal) (repeated bool, err error) {
	a, id, ok := s.openSignal(token)
	if !ok {
		_, _, err := s.countMiss(c, fault.New(fault.NotFound, "there is no job at this address: it is what the job read as !JOB('signal_url')"))
		return false, err
	}
	if !engine.IsSignalName(g.Name) {
		return false, fault.Invalid("name", "has 1 to 100 characters on one line")
	}
	if len(g.Data) > engine.MaxSignalBytes {
		return false, fault.Invalid("data", "has %d bytes: %d fit", len(g.Data), engine.MaxSignalBytes)
	}
	if v := s.o.Limiter.Allow(admit.Key{Rate: signalRate.Name, Origin: string(id[:])}, signalRate); !v.OK {
		return false, v.Err()
	}
	if v := s.o.Limiter.Allow(admit.ByAccount(signalsRate.Name, int64(a)), signalsRate); !v.OK {
		return false, v.Err()
	}
	signal := job.Signal{Name: g.Name, Data: []byte(g.Data), Most: maxSignals, MostBytes: maxSignalBytes}
	if g.Data == "" {
		signal.Data = []byte("null")
	}
	if key := cmp.Or(g.Key, g.ID); key != "" {
		sum := sha256.Sum256([]byte(g.Name + "\x00" + key))
		signal.Key = &sum
	}
	left, err := s.o.Jobs.Signal(ctx, a, id, signal)
	switch {
	case errors.Is(err, job.ErrNotFound):
		return false, fault.New(fault.JobNotFound, "the job is not there: its record was removed, or it is a call that is not stored yet, and then this works in a moment")
	case errors.Is(err, job.ErrEnded):
		return false, fault.New(fault.JobEnded, "the job has ended, and takes no signals")
	case errors.Is(err, job.ErrSignalLimit):
		f := fault.Retryable(fault.QuotaExceeded, 30*time.Second, "as many signals wait as may: %d of a job, and %d bytes of all jobs of the account", maxSignals, maxSignalBytes)
		f.Limit, f.Value = "signals", maxSignals
		return false, f
	}
	return err == nil && !left, err
}

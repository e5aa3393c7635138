package crashtest

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestPromiseKeysRunOnce sends each submission many times at once under one
// Idempotency-Key while the server is killed, and again when all are done: all
// get the same job, and it is done once.
func TestPromiseKeysRunOnce(t *testing.T) {
	keys, retries, kills := count(10, 200), count(8, 20), int64(count(3, 30))
	s := newServer(t)
	s.start()
	s.output(`CREATE TABLE ledger (n TEXT);`)
	stop := s.killing(upTo(600 * time.Millisecond))
	ids := make([]string, keys)
	rounds := 0
	for ; rounds == 0 || s.kills.Load() < kills; rounds++ {
		s.sendAll(ids, retries)
		if t.Failed() {
			break
		}
	}
	stop()
	s.awaitIdle()
	found := s.entries()
	runs := 0
	for n := range keys {
		once := found[strconv.Itoa(n)]
		if once != 1 {
			t.Errorf("the submission with the key %d was done %d times", n, once)
		}
		runs += once
	}
	t.Logf("%d keys, each sent %d times at once in %d rounds, under %d kills: done %d times", keys, retries, rounds, s.kills.Load(), runs)
}

// sendAll sends a submission for each key, and notes, or compares, the jobs that
// they lead to.
func (s *server) sendAll(ids []string, retries int) {
	const atOnce = 4 // keys
	numbers := make(chan int)
	var sending sync.WaitGroup
	for range atOnce {
		sending.Go(func() {
			for n := range numbers {
				if err := s.sendOften(strconv.Itoa(n), &ids[n], retries); err != nil {
					s.t.Error(err)
				}
			}
		})
	}
	for n := range ids {
		numbers <- n
	}
	close(numbers)
	sending.Wait()
}

// sendOften sends a submission many times at once, each until it is answered.
func (s *server) sendOften(n string, id *string, times int) error {
	r := query("async", `INSERT INTO ledger VALUES (!GET('n')); EMIT !GET('n')`, "n", n)
	r.key = "key-" + n
	type result struct {
		id  string
		err error
	}
	results := make(chan result, times)
	for range times {
		go func() {
			a, err := s.call(r)
			if err != nil {
				results <- result{err: err}
				return
			}
			j, err := a.job()
			if err == nil && (a.status != http.StatusAccepted && a.status != http.StatusOK || j.ID == "") {
				err = fmt.Errorf("a submission was answered %s", a)
			}
			results <- result{j.ID, err}
		}()
	}
	for range times {
		switch got := <-results; {
		case got.err != nil:
			return got.err
		case *id == "":
			*id = got.id
		case got.id != *id:
			return fmt.Errorf("one key led to the jobs %s and %s", *id, got.id)
		}
	}
	_, err := s.await(*id, "complete")
	return err
}

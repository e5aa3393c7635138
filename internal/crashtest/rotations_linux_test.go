package crashtest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// mostRotation is how long it takes at most to end a key, while one node of three stands still: its lease, and what the
// machine takes on the way.
const mostRotation = 6 * time.Second

// checkRotations: a key that was revoked opens nothing at any node once that is answered, also while the way of a node to
// PostgreSQL is slow or cut, or the node stands still, and the answer comes within the time of a lease.
func checkRotations(t *testing.T, f *faultyNodes) {
	nodes := f.nodes
	create := func(by *server, name string) (key string) {
		var made struct{ Key string }
		by.mustCall(request{method: http.MethodPost, path: "/v1/keys", body: fmt.Appendf(nil, `{"name": %q, "scopes": ["jobs"]}`, name), owner: true}, &made)
		return made.Key
	}
	use := func(s *server, key string) answer {
		a, err := s.try(request{method: http.MethodGet, path: "/v1/jobs?limit=1", bearer: key})
		check(t, err)
		return a
	}
	rotations, clients, stopped, cut := count(2, 200), count(3, 64), count(1, 20), count(1, 20)
	for i := range rotations + stopped + cut {
		stops, cuts := i >= rotations && i < rotations+stopped, i >= rotations+stopped
		if !stops && !cuts {
			f.links[rand.IntN(3)].slow(rand.N(200 * time.Millisecond))
		}
		name := "rotated" + strconv.Itoa(i)
		key := create(nodes[i%3], name)
		var over atomic.Bool // its end was answered
		var late, used, odd atomic.Int64
		var all sync.WaitGroup
		standing := nodes[(i+1)%3]
		for c := range clients {
			all.Go(func() {
				s := nodes[c%3]
				if stops && s == standing {
					return
				}
				isCut := cuts && s == standing
				for ended := false; !ended; {
					ended = over.Load()
					switch a := use(s, key); {
					case a.status == http.StatusOK && ended:
						late.Add(1)
					case a.status == http.StatusOK:
						used.Add(1)
					case a.status == http.StatusServiceUnavailable && isCut: // it knows that it may know too little
					case a.status != http.StatusUnauthorized && a.status != http.StatusTooManyRequests && odd.Add(1) == 1:
						t.Errorf("rotation %d, a node stops: %v, is cut off: %v: node %d answers %s", i, stops, cuts, c%3+1, a)
					}
				}
			})
		}
		for deadline := time.Now().Add(patience); used.Load() < int64(clients) && time.Now().Before(deadline); { // it is known at all
			<-time.After(time.Millisecond)
		}
		turn := f.links[(i+1)%3].cut
		if i%2 == 0 {
			turn = f.links[(i+1)%3].stand
		}
		switch {
		case stops:
			check(t, standing.process.Process.Signal(syscall.SIGSTOP))
		case cuts:
			turn(true)
		}
		began := time.Now()
		a, err := nodes[i%3].call(request{method: http.MethodDelete, path: "/v1/keys/" + name, owner: true})
		took := time.Since(began)
		over.Store(true)
		if err != nil || a.status/100 != 2 {
			t.Errorf("%s, %v", a, err)
		}
		if stops {
			check(t, standing.process.Process.Signal(syscall.SIGCONT))
		}
		if stops || cuts {
			if a := use(standing, key); a.status == http.StatusOK {
				late.Add(1)
			}
		}
		all.Wait()
		if cuts {
			turn(false)
		}
		for _, l := range f.links {
			l.slow(0)
		}
		if late.Load() > 0 {
			t.Errorf("rotation %d: the key was taken %d times after its end was answered", i, late.Load())
		}
		if took > mostRotation {
			t.Errorf("rotation %d was answered after %v", i, took)
		}
	}
}

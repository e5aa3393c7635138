package crashtest

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPromiseLinksAreUsedOnce loads the file of each link for one use by many at
// once, while the server is killed: no two get it, also where nobody could be
// told of the first.
func TestPromiseLinksAreUsedOnce(t *testing.T) {
	const links, clients = 10, 8
	kills := int64(count(3, 50))
	s := newServer(t)
	s.start()
	stop := s.killing(upTo(400 * time.Millisecond))
	delivered, rounds := 0, 0
	for ; rounds == 0 || s.kills.Load() < kills; rounds++ {
		text := s.output(`
			WRITE "the content" TO "/shared.txt"
			FOR ?i FROM 1 TO 10 DO
				SHARE "/shared.txt" SET ?url
				EMIT ?url, "\n"
			END`)
		list := strings.Fields(text)
		if len(list) != links {
			t.Fatalf("the links are %s", text)
		}
		for _, link := range list {
			n := s.load(link[strings.LastIndex(link, "/files/"):], clients)
			if n > 1 {
				t.Errorf("%d got the file of a link for one", n)
			}
			delivered += n
		}
	}
	stop()
	if delivered == 0 {
		t.Error("nobody ever got a file")
	}
	t.Logf("%d links for one use, each asked for by %d at once, under %d kills: %d deliveries", rounds*links, clients, s.kills.Load(), delivered)
}

// load asks for a file by many at once, each until it is answered, and returns
// how many got it.
func (s *server) load(path string, clients int) int {
	s.t.Helper()
	var got atomic.Int64
	var asking sync.WaitGroup
	for range clients {
		asking.Go(func() {
			a, err := s.call(request{method: http.MethodGet, path: path})
			switch {
			case err != nil:
				s.t.Error(err)
			case a.status == http.StatusOK && string(a.body) == "the content":
				got.Add(1)
			case a.status != http.StatusGone:
				s.t.Errorf("a link answers %s", a)
			}
		})
	}
	asking.Wait()
	return int(got.Load())
}

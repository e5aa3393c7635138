package site_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// TestPromiseNothingGrows has visitors ask for pages and files, under names that are there and, mostly, that are not: in a
// process that has 2.5 GiB, what is held afterwards is what was held before, but for caches that
// have their bounds.
func TestPromiseNothingGrows(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(5 << 29))
	requests := 300
	if os.Getenv("QL_PROMISES") == "1" {
		requests = 30_000
	}
	w := measured(t)
	held := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools held goes with the second
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	round := func(number int) {
		var wg sync.WaitGroup
		const visitors = 8
		for visitor := range visitors {
			c := w.visits(t, "/")
			head := string(c.request[strings.Index(string(c.request), " HTTP/1.1"):])
			wg.Go(func() {
				for i := range requests / visitors {
					path := fmt.Sprintf("/none/%d/%d/%d", number, visitor, i)
					switch i % 6 {
					case 0:
						path = fmt.Sprintf("/trivial?name=%d", i)
					case 1:
						path = "/read?id=2"
					case 2:
						path = fmt.Sprintf("/blog/%d-%d", number, i)
					case 3:
						path = "/note.txt"
					}
					c.request = []byte("GET " + path + head)
					c.ask("") // a busy machine may have no room for one
				}
			})
		}
		wg.Wait()
	}
	for _, v := range views {
		w.visits(t, v.path, v.lines...).ask(v.status)
	}
	round(0)
	before := held()
	round(1)
	round(2)
	const caches = 6 << 20 // what a site may have in caches, and a little more
	if grown := held() - before; grown > caches {
		t.Errorf("after %d requests %d bytes more are held", 2*requests, grown)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d requests: the heap has %d bytes, and %d at most", 3*requests, m.HeapAlloc, m.HeapSys)
	if m.Sys > 5<<29 {
		t.Errorf("the process has %d bytes", m.Sys)
	}
}

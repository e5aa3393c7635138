package app_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestPromiseIdleClients checks that 10,000 callers that keep their connections
// and do nothing cost less than 500 MiB.
func TestPromiseIdleClients(t *testing.T) {
	const most = 500 // MiB
	clients := 200
	if os.Getenv("QL_PROMISES") != "" {
		clients = 10_000
	}
	p := startProcess(t, "", "ada")
	before := p.resident()
	request := p.request("ada", trivial)
	lines := make(chan *line, clients)
	var wg sync.WaitGroup
	const dialers = 16
	for d := range dialers {
		wg.Go(func() {
			// One address alone could run out of ports.
			from := fmt.Sprintf("127.0.0.%d", 2+d)
			for n := d; n < clients; n += dialers {
				l, err := p.dial(from)
				if err != nil {
					t.Error(err)
					return
				}
				lines <- l
				if r, err := l.call(request, time.Minute); err != nil || r.status != 200 {
					t.Errorf("%d %s, %v", r.status, r.body, err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(lines)
	after := p.resident()
	open := 0
	for l := range lines {
		open++
		_ = l.conn.Close()
	}
	t.Logf("%d idle clients: %d MiB, %d MiB before they came", open, after, before)
	if open != clients {
		t.Errorf("%d of %d clients are connected", open, clients)
	}
	if after >= most {
		t.Errorf("the service takes %d MiB with %d idle clients, which is not below %d", after, open, most)
	}
}

// resident returns how many MiB of memory the process has.
func (p *process) resident() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, err := strconv.Atoi(fields[1])
			if err != nil {
				p.t.Fatal(err)
			}
			return kib >> 10
		}
	}
	p.t.Fatal("the process tells no VmRSS")
	return 0
}

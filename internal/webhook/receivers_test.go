package webhook_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/network"
	"ql/internal/network/networktest"
	"ql/internal/webhook"
)

// badReceiver is a server that makes trouble. It is told the same twice.
type badReceiver struct {
	serve func(w http.ResponseWriter, r *http.Request, n int)
	name  string // by which it is called; 127.0.0.1 where left out
	// stranger has a certificate of nobody.
	stranger bool
	want     [2]outcome
}

// outcome is what an attempt leads to.
type outcome struct {
	state  webhook.State
	status int
	says   string
	answer string
}

func twice(o outcome) [2]outcome { return [2]outcome{o, o} }

func badReceivers() map[string]badReceiver {
	unfinished := outcome{state: webhook.Pending, says: "the host ended the connection before its answer was whole"}
	slow := outcome{state: webhook.Pending, says: "the host took too long to answer"}
	return map[string]badReceiver{
		"500": {
			serve: func(w http.ResponseWriter, _ *http.Request, _ int) {
				http.Error(w, "broken\x1b[2J", http.StatusInternalServerError)
			},
			want: twice(outcome{webhook.Pending, 500, "", "broken [2J "}),
		},
		"429 with Retry-After": {
			serve: func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Retry-After", "7200")
				w.WriteHeader(http.StatusTooManyRequests)
			},
			want: twice(outcome{state: webhook.Pending, status: 429}),
		},
		"410": {
			serve: func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusGone) },
			want:  twice(outcome{state: webhook.Stopped, status: 410}),
		},
		"a redirect": {
			serve: func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Location", "http://169.254.169.254/latest/")
				w.WriteHeader(http.StatusTemporaryRedirect)
			},
			want: twice(outcome{state: webhook.Pending, status: 307, says: "redirects are not followed"}),
		},
		"hangs": {
			serve: func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() },
			want:  twice(slow),
		},
		"resets": {
			serve: func(w http.ResponseWriter, _ *http.Request, _ int) {
				conn := hijack(w)
				if tcp, ok := conn.(interface{ NetConn() net.Conn }).NetConn().(*net.TCPConn); ok {
					_ = tcp.SetLinger(0)
					_ = tcp.Close()
				}
			},
			want: twice(outcome{state: webhook.Pending, says: "the host broke the connection off"}),
		},
		"a slow body": {
			serve: func(w http.ResponseWriter, r *http.Request, _ int) {
				fmt.Fprint(w, "wait for")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			},
			want: twice(outcome{webhook.Delivered, 200, "", "wait for"}),
		},
		"a huge body": {
			serve: func(w http.ResponseWriter, r *http.Request, _ int) {
				for r.Context().Err() == nil {
					if _, err := w.Write([]byte(strings.Repeat("x", 1<<20))); err != nil {
						return
					}
				}
			},
			want: twice(outcome{webhook.Delivered, 200, "", strings.Repeat("x", 256)}),
		},
		"bad TLS": {
			serve:    func(http.ResponseWriter, *http.Request, int) {},
			stranger: true,
			want:     twice(outcome{state: webhook.Pending, says: "the host's certificate is not valid: nobody who is trusted has signed it"}),
		},
		"DNS rebinding": {
			serve: func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusInternalServerError) },
			name:  "example.com",
			want: [2]outcome{
				{state: webhook.Pending, status: 500},
				{state: webhook.Pending, says: "calls to this host are not allowed: its name leads to an address that is for a private network; who runs the service may allow it by the setting egress_networks"},
			},
		},
		"closes before its status": {
			serve: func(w http.ResponseWriter, _ *http.Request, _ int) { _ = hijack(w).Close() },
			want:  twice(unfinished),
		},
		"2xx too late": {
			serve: func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 1 {
					<-r.Context().Done() // then it answers, and nobody listens
				}
				w.WriteHeader(http.StatusOK)
			},
			want: [2]outcome{slow, {state: webhook.Delivered, status: 200}},
		},
	}
}

func hijack(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	return conn
}

// selfMade is a certificate that nobody has signed.
func selfMade(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestBadReceivers tells twelve bad servers something at once, by the client
// that is used in earnest.
func TestBadReceivers(t *testing.T) {
	var mu sync.Mutex
	ids := map[string][]string{} // that a server saw, by its kind
	roots := x509.NewCertPool()
	o := network.ForWebhooks()
	o.Total, o.Roots = 2*time.Second, roots
	o.Resolver = networktest.Names(t, func(_ string, n int) []netip.Addr {
		if n == 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
		}
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	})
	client := network.NewClient(network.Policy{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, AnyPort: true}, o)

	d := openDesk(t, client)
	now := time.Now() // stands still, so that nothing is due by itself
	d.options.Clock = func() time.Time { return now }
	tried := make(chan struct{}, 100)
	d.options.OnAttempt = func(webhook.Attempt, webhook.State) { tried <- struct{}{} }
	d.options.PerHost, d.options.PerAccount = 32, 32

	kinds := badReceivers()
	if len(kinds) != 12 {
		t.Errorf("there are %d kinds", len(kinds))
	}
	deliveries := map[string]string{}
	for kind, bad := range kinds {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			mu.Lock()
			ids[kind] = append(ids[kind], r.Header.Get("webhook-id"))
			n := len(ids[kind])
			mu.Unlock()
			bad.serve(w, r, n)
		}))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		if bad.stranger {
			server.TLS = &tls.Config{Certificates: []tls.Certificate{selfMade(t)}}
		}
		server.StartTLS()
		t.Cleanup(server.Close)
		if !bad.stranger {
			roots.AddCert(server.Certificate())
		}
		url := server.URL
		if bad.name != "" {
			url = strings.Replace(url, "127.0.0.1", bad.name, 1)
		}
		deliveries[kind] = d.finish(url + "/hook")
	}
	now = time.Now()
	d.start()
	for round := range 2 {
		for range kinds {
			<-tried
		}
		for kind, bad := range kinds {
			id := deliveries[kind]
			got, attempts := d.delivery(id), d.attempts(id)
			if len(attempts) != round+1 || got.Attempts != round+1 {
				t.Fatalf("%s: %d attempts", kind, len(attempts))
			}
			a := attempts[round]
			if o := (outcome{got.State, a.Status, a.Error, a.Answer}); o != bad.want[round] {
				t.Errorf("%s: got %+v, want %+v", kind, o, bad.want[round])
			}
			if kind == "429 with Retry-After" && got.Due.Before(now.Add(2*time.Hour).Truncate(time.Microsecond)) {
				t.Errorf("it is due again after %s", got.Due.Sub(now))
			}
			if round == 0 {
				if _, err := d.store.Deliveries().Repeat(context.Background(), id, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		d.sender.Wake()
	}
	mu.Lock() // one that was called too late may still take it down
	defer mu.Unlock()
	for kind, seen := range ids {
		if slices.ContainsFunc(seen, func(id string) bool { return id != deliveries[kind] }) {
			t.Errorf("%s saw %v", kind, seen)
		}
	}
	for kind, calls := range map[string]int{"bad TLS": 0, "DNS rebinding": 1, "500": 2} {
		if len(ids[kind]) != calls {
			t.Errorf("%s was called %d times", kind, len(ids[kind]))
		}
	}
}

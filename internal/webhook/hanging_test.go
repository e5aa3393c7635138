package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/network"
	"ql/internal/network/networktest"
	"ql/internal/redacted"
	"ql/internal/webhook"
)

// TestHangingHosts has eighty deliveries of eight accounts go to servers that
// take them and never answer. A neighbour's is sent while they all hang: not one
// attempt has ended before.
func TestHangingHosts(t *testing.T) {
	arrived, heard, release := make(chan string, 80), make(chan string, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/good" {
			heard <- r.Host
			return
		}
		arrived <- r.Host
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]

	o := network.ForWebhooks()
	o.Total = 30 * time.Second
	o.Resolver = networktest.Names(t, func(string, int) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	policy := network.Policy{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, AnyPort: true, PlainHTTP: true}
	d := openDesk(t, network.NewClient(policy, o))
	var ended atomic.Int64
	d.options.OnAttempt = func(webhook.Attempt, webhook.State) { ended.Add(1) }
	d.options.Secrets = func(context.Context, account.ID) ([]redacted.Text, error) { return []redacted.Text{secret}, nil }
	for i := range 8 {
		id, err := d.store.Accounts().Create(t.Context(), account.Account{Username: fmt.Sprintf("trapper%d", i), Plan: account.Standard, Created: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			d.finishAs(id, fmt.Sprintf("http://trap%d-%d.example%s/", i, n, port))
		}
	}
	d.start()
	by := map[string]int{}
	for range 48 { // all that these may have under way: three quarters
		host := <-arrived
		by[host[:len("trap0")]]++
	}
	for name, n := range by {
		if n > 8 || len(by) != 8 {
			t.Errorf("%d accounts have calls under way, %s has %d", len(by), name, n)
		}
	}
	id := d.finish("http://neighbour.example" + port + "/good")
	d.sender.Wake()
	<-heard
	if n := ended.Load(); n > 1 {
		t.Errorf("%d attempts ended before the neighbour's was made", n)
	}
	if n := len(arrived); n > 0 {
		t.Errorf("%d calls more than there may be hang", n)
	}
	if got := d.delivery(id); got.State == webhook.Exhausted || got.Attempts > 1 {
		t.Errorf("the neighbour's stands at %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.sender.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

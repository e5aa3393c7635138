package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/mail"
	"ql/internal/mail/mailtest"
)

func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNightlyExample: a schedule starts the import, which mails its report, by a real server. A second
// night without a file imports nothing, and says so.
func TestNightlyExample(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{NoTLS: true})
	b := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		s.MailServer = &mail.Server{Host: server.Host, Port: server.Port, TLS: mail.TLSNone}
		s.MailFrom = &mail.Address{Local: "ql", Domain: "service.example"}
	})
	b.Account("ada", account.Standard)
	c := &callers{t, b, "ada"}
	c.publish("nightly", example(t, "nightly.ql"))
	const orders = "id,item,total\n1,book,5\n2,pen,1.5\n2,pen,1.5\n3,ink,dear\n4\n"
	if status, _, body := fileCall(t, b, "ada", "PUT", "/import/orders.csv", strings.NewReader(orders)); status/100 != 2 {
		t.Fatalf("%d %s", status, body)
	}
	if a := send(t, asOwner(t, "ada", "PUT", b.URL()+"/v1/schedules/nightly", `{"script":"nightly","input":{"to":"ada@example.com"},"cron":"30 2 * * *","zone":"Europe/Berlin"}`)); a.status/100 != 2 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for night, want := range [][]string{
		{"Subject: 2 orders, 2 refused", "New: 2", "All: 2, 6.50 EUR", "line 5: ", "line 6: "},
		{"Subject: No orders", "There was no file of orders this night."},
	} {
		a := send(t, asOwner(t, "ada", "POST", b.URL()+"/v1/schedules/nightly/run", ""))
		if a.status/100 != 2 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		c.until(a.JobID, "complete") // else the next one would be skipped
		m := server.Wait(t, night+1)[night]
		for _, text := range want {
			if !strings.Contains(m.Data, text) {
				t.Errorf("night %d: there is no %q in\n%s", night, text, m.Data)
			}
		}
	}
	if got := c.run("sync", `SELECT GROUP_CONCAT(item) FROM nightly_orders SET VALUE ?items LIST "/import" SET ?files EMIT ?items, " ", COUNT(?files)`); got.Result != "book,pen 1" {
		t.Errorf("%+v %+v", got, got.Error)
	}
}

// TestWatchExample: 200 addresses are asked, no more at once than the account may have, and those that do
// not answer are listed in their order.
func TestWatchExample(t *testing.T) {
	var under, most, asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := under.Add(1)
		defer under.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		asked.Add(1)
		if n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); err != nil || n%10 == 0 {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(at.Port(), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	b := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		s.EgressNetworks, s.EgressPorts, s.EgressHTTP = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, []uint16{uint16(port)}, true
	})
	b.Account("ada", account.Unlimited)
	var addresses, want strings.Builder
	fmt.Fprintln(&want, "179 answer, 21 do not")
	for i := 1; i <= 200; i++ {
		address := fmt.Sprintf("%s/%d", server.URL, i)
		if i == 7 {
			address = "http://10.0.0.1/"
			fmt.Fprintf(&want, "%s: address_not_allowed\n", address)
		} else if i%10 == 0 {
			fmt.Fprintf(&want, "%s: status 404\n", address)
		}
		fmt.Fprintln(&addresses, address)
	}
	if status, _, body := fileCall(t, b, "ada", "PUT", "/addresses.txt", strings.NewReader(addresses.String())); status/100 != 2 {
		t.Fatalf("%d %s", status, body)
	}
	c := &callers{t, b, "ada"}
	got := c.run("async", example(t, "watch.ql"))
	if got.Result != want.String() || asked.Load() != 199 {
		t.Errorf("%d were asked: %+v %+v", asked.Load(), got, got.Error)
	}
	if limit := int64(account.Unlimited.Limits().FetchesAtOnce); most.Load() > limit {
		t.Errorf("%d calls were under way at once, and may be %d", most.Load(), limit)
	}
}

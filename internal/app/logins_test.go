package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/operator"
)

// TestPromiseLogInsUnderAttack calls the service as it is run for others: people
// log in for the first time while made-up log-ins come from many networks. All of
// them get in.
func TestPromiseLogInsUnderAttack(t *testing.T) {
	addresses, tries, again, people := 40, 2, 500*time.Millisecond, 3
	if testing.Short() { // where a hash takes so long that it alone is all the time there is
		addresses, tries = 4, 1
	}
	if os.Getenv("QL_PROMISES") != "" {
		addresses, tries, again, people = 500, 4, 3*time.Second, 50
	}
	s := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		s.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	s.Operate(func(o *operator.Operator) error {
		for n := range people {
			if _, _, err := o.Accounts.Create(t.Context(), account.New{Username: fmt.Sprint("person", n), Password: apptest.Password, Plan: account.Standard}); err != nil {
				return err
			}
		}
		return nil
	})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: addresses + people}}
	defer client.CloseIdleConnections()
	logIn := func(name, secret, from string) (int, time.Duration) {
		start := time.Now()
		body := fmt.Sprintf(`{"auth":{"username":%q,"password":%q},"query":"EMIT 1"}`, name, secret)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/query", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, 0
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Forwarded-For", from)
		res, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return 0, 0
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode, time.Since(start)
	}
	var mu sync.Mutex
	attackers, answers := map[int]int{}, map[int]int{}
	var longest time.Duration
	var group, begun sync.WaitGroup
	begun.Add(addresses)
	for n := range addresses {
		group.Go(func() {
			for i := range tries {
				status, _ := logIn(fmt.Sprintf("user%d-%d", n, i), "a made-up password", fmt.Sprintf("%d.%d.1.1", 20+n/250, n%250))
				mu.Lock()
				attackers[status]++
				mu.Unlock()
				if i == 0 {
					begun.Done()
				}
				if status == 503 {
					<-time.After(again)
				}
			}
		})
	}
	begun.Wait()
	for n := range people {
		group.Go(func() {
			status, took := logIn(fmt.Sprint("person", n), apptest.Password, fmt.Sprintf("203.%d.113.7", n))
			mu.Lock()
			defer mu.Unlock()
			answers[status]++
			longest = max(longest, took)
		})
		<-time.After(250 * time.Millisecond)
	}
	group.Wait()
	t.Logf("the attack: %v; the people: %v, the longest in %s", attackers, answers, longest)
	if answers[200] != people {
		t.Errorf("of %d first log-ins: %v", people, answers)
	}
}

package app

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/config"
	"ql/internal/engine"
	"ql/internal/operator"
	"ql/lang/value"
)

// TestQuota: what leaves and what runs is counted, shown to scripts and to the
// operator, and held to the month.
func TestQuota(t *testing.T) {
	const most = 2000
	outside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer outside.Close()
	at, err := netip.ParseAddrPort(strings.TrimPrefix(outside.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	a := start(t, func(s *config.Settings) {
		l := account.Standard.Limits()
		l.StorageBytes, l.CallsPerMonth, l.EgressPerMonth, l.RunningPerMonth = 100<<20, 100_000, most, time.Hour
		s.Plans[account.Standard] = l
		s.Dev = false
		s.EgressNetworks, s.EgressPorts = []netip.Prefix{netip.PrefixFrom(at.Addr(), 32)}, []uint16{at.Port()}
	})
	ada, _, err := a.parts.accounts.Create(t.Context(), account.New{Username: "ada", Password: "a rather long sentence", Plan: account.Standard})
	if err != nil {
		t.Fatal(err)
	}
	limits := a.settings.Limits(ada.Plan)
	r, err := a.parts.resources.Open(t.Context(), ada, limits, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Release)
	send := func(bytes int) error {
		_, err := r.Network.Fetch(t.Context(), engine.Request{Number: 1, Method: "POST", URL: outside.URL, Body: make([]byte, bytes), Most: 1})
		return err
	}
	if err := send(1500); err != nil {
		t.Fatal(err)
	}
	over := send(1500)
	wantCode(t, "more than is left", over, "quota_exceeded")
	var named *value.Error
	if !errors.As(over, &named) || named.Limit == nil || named.Limit.Name != usage.Egress || named.Limit.Max != most {
		t.Errorf("its limit: %+v", named)
	}
	if err := r.Files.Write(t.Context(), "/kept", make([]byte, 100)); err != nil {
		t.Errorf("files are another matter: %v", err)
	}
	// A refused call leaves what there was.
	if err := send(10); err != nil {
		t.Errorf("what is left: %v", err)
	}
	spent, err := a.parts.tally.Begin(t.Context(), ada.ID, limits)
	if err != nil {
		t.Fatal(err)
	}
	spent.Count(1500 * time.Millisecond)

	var shown map[string]struct{ Used, Limit *int64 }
	v, err := r.Quota(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(value.AppendJSON(nil, v), &shown); err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int64{
		"storage": {100, 100 << 20}, usage.Calls: {1, 100_000}, usage.Running: {1500, 3_600_000},
		usage.Egress: {1510 + 2*int64(len("POST"+outside.URL)), most},
	}
	for name, w := range want {
		if got := shown[name]; got.Used == nil || *got.Used != w[0] || *got.Limit != w[1] {
			t.Errorf("%s: got %v", name, got)
		}
	}

	keepJobs(t, a, ada.ID, 1, 5000)
	o, err := operator.Open(t.Context(), a.settings, false)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	q, err := o.Quota(t.Context(), "ada")
	if err != nil || q.Stored != 100 || q.RecordBytes != 5000 || q.Used.Egress != want[usage.Egress][0] || q.Plan != account.Standard || q.Limits.EgressPerMonth != most {
		t.Errorf("the operator sees %+v, %v", q, err)
	}
}

// TestOverQuota: an account that has used up its calls reads, removes and hands
// out what it has, and all that leaves is counted.
func TestOverQuota(t *testing.T) {
	const size = 5000
	a := start(t, func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.CallsPerMonth, l.EgressPerMonth = 1, size
		s.Plans[account.Free] = l
		s.Dev = false
	})
	call := func(method, address, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("dev", "dev")
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return exchange(t, r)
	}
	run := func(script string) (int, string) {
		t.Helper()
		return call(http.MethodPost, a.URL()+"/api", url.Values{"identity": {"dev"}, "password": {"dev"}, "q": {script}}.Encode())
	}
	file := a.URL() + "/v1/files/f.txt"
	if status, text := call(http.MethodPut, file, strings.Repeat("x", size)); status != http.StatusCreated {
		t.Fatal(status, text)
	}
	status, link := run(`SHARE "/f.txt" UNLIMITED FOR 1 HOUR SET ?link EMIT ?link`)
	if status != http.StatusOK {
		t.Fatal(status, link)
	}
	if status, text := run(`EMIT 1`); status != http.StatusTooManyRequests || !strings.HasPrefix(text, "error: quota_exceeded: ") {
		t.Errorf("one more call: %d %s", status, text)
	}
	for _, address := range []string{file, link, link} {
		if status, text := call(http.MethodGet, address, ""); status != http.StatusOK || len(text) != size {
			t.Errorf("%s over quota: %d, %d bytes", address, status, len(text))
		}
	}
	if status, text := call(http.MethodDelete, file, ""); status != http.StatusOK {
		t.Errorf("removing over quota: %d %s", status, text)
	}
	dev, err := a.parts.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// What was sent is counted when all of it was.
	var used usage.Used
	for deadline := time.Now().Add(10 * time.Second); used.Egress < 3*size && time.Now().Before(deadline); {
		if used, err = a.parts.tally.Used(t.Context(), dev.ID); err != nil {
			t.Fatal(err)
		}
	}
	if used.Egress != 3*size || used.Calls != 1 {
		t.Errorf("used are %+v", used)
	}
}

// TestNoMonthForOne: a developer's service holds nobody to a month.
func TestNoMonthForOne(t *testing.T) {
	a := start(t, func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.CallsPerMonth, l.RunningPerMonth, l.EgressPerMonth = 1, 1, 1
		s.Plans[account.Free] = l
	})
	if l := a.settings.Limits(account.Free); l.CallsPerMonth != 0 || l.RunningPerMonth != 0 || l.EgressPerMonth != 0 || l.StorageBytes == 0 {
		t.Errorf("its limits are %+v", l)
	}
	// The operator is shown the same.
	o, err := operator.Open(t.Context(), a.settings, false)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if q, err := o.Quota(t.Context(), account.Development); err != nil || q.Limits.CallsPerMonth != 0 || q.Limits.EgressPerMonth != 0 || q.Limits.RecordsBytes != 0 {
		t.Errorf("the operator sees %+v, %v", q, err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/v1/limits", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("dev", "dev")
	_, text := exchange(t, r)
	var shown struct {
		Limits map[string]struct{ Value *int64 }
	}
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"records", "calls", "rate", "concurrent", "queued", "standing", "standing_bytes"} {
		if l, ok := shown.Limits[name]; !ok || l.Value != nil {
			t.Errorf("%s is shown as %v", name, l.Value)
		}
	}
	if l := shown.Limits["fetches"]; l.Value == nil || *l.Value != int64(account.Standard.Limits().Fetches) {
		t.Errorf("fetches are shown as %v", l.Value)
	}
}

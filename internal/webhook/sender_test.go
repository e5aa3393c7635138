package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/network"
	"ql/internal/redacted"
	"ql/internal/webhook"
)

// schedule is what is promised, written down a second time.
var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// TestWholeSchedule lets a server refuse for three days.
func TestWholeSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := answers(500)
		d := openDesk(t, host)
		d.start()
		began := time.Now()
		id := d.finish("https://example.com/hook")
		d.sender.Wake()
		time.Sleep(100 * time.Hour)
		synctest.Wait()

		calls := host.received()
		if len(calls) != 10 || !calls[0].at.Equal(began) {
			t.Fatalf("%d calls, the first after %s", len(calls), calls[0].at.Sub(began))
		}
		for i, c := range calls {
			if i > 0 {
				pause, want := c.at.Sub(calls[i-1].at), schedule[i-1]
				if pause < want*8/10 || pause > want*12/10+time.Microsecond {
					t.Errorf("attempt %d came after %s, want %s", i+1, pause, want)
				}
			}
			timestamp := strconv.FormatInt(c.at.Unix(), 10)
			if c.id != id || c.timestamp != timestamp || c.signature != signature(id, timestamp, c.body) || c.kind != "application/json" || c.url != "POST https://example.com/hook" {
				t.Errorf("attempt %d: %+v", i+1, c)
			}
		}
		got := d.delivery(id)
		if got.State != webhook.Exhausted || got.Attempts != 10 || !got.Due.IsZero() || !got.Settled.Equal(calls[9].at) {
			t.Errorf("it stands at %+v", got)
		}
		for i, a := range d.attempts(id) {
			want := webhook.Attempt{Number: i + 1, At: calls[i].at.UTC(), Status: 500, Answer: "status 500"}
			if a != want {
				t.Errorf("attempt %d is kept as %+v", i+1, a)
			}
		}

		// By hand it is tried once more, under the same id.
		if _, err := d.store.Deliveries().Repeat(t.Context(), id, time.Now()); err != nil {
			t.Fatal(err)
		}
		d.sender.Wake()
		time.Sleep(100 * time.Hour)
		synctest.Wait()
		if calls := host.received(); len(calls) != 11 || calls[10].id != id {
			t.Errorf("after the repetition %d calls", len(calls))
		}
		if got := d.delivery(id); got.State != webhook.Exhausted || got.Attempts != 11 {
			t.Errorf("after the repetition it stands at %+v", got)
		}
	})
}

func signature(id, timestamp, body string) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// TestAnswers looks at what follows from one answer.
func TestAnswers(t *testing.T) {
	failed := &network.Error{Code: network.FetchFailed, Message: "the host refused the connection"}
	type wait struct{ least, most time.Duration }
	soon := wait{4 * time.Second, 6 * time.Second}
	for name, test := range map[string]struct {
		answer network.Answer
		err    error
		state  webhook.State
		wait   wait // of Pending
		says   string
	}{
		"200":                    {answer: network.Answer{Status: 200}, state: webhook.Delivered},
		"204":                    {answer: network.Answer{Status: 204}, state: webhook.Delivered},
		"299":                    {answer: network.Answer{Status: 299}, state: webhook.Delivered},
		"410":                    {answer: network.Answer{Status: 410}, state: webhook.Stopped},
		"a redirect":             {answer: network.Answer{Status: 301}, state: webhook.Pending, wait: soon, says: "redirects are not followed"},
		"400":                    {answer: network.Answer{Status: 400}, state: webhook.Pending, wait: soon},
		"404":                    {answer: network.Answer{Status: 404}, state: webhook.Pending, wait: soon},
		"500 with a wait":        {answer: later(500, "3600"), state: webhook.Pending, wait: soon},
		"429":                    {answer: network.Answer{Status: 429}, state: webhook.Pending, wait: soon},
		"429 with a wait":        {answer: later(429, "3600"), state: webhook.Pending, wait: wait{time.Hour, time.Hour}},
		"429 with a short wait":  {answer: later(429, "1"), state: webhook.Pending, wait: soon},
		"503 with a date":        {answer: later(503, "Sat, 01 Jan 2000 02:00:00 GMT"), state: webhook.Pending, wait: wait{time.Hour, 2 * time.Hour}},
		"503 with a long wait":   {answer: later(503, "999999999"), state: webhook.Pending, wait: wait{24 * time.Hour, 24 * time.Hour}},
		"503 with some wait":     {answer: later(503, "later"), state: webhook.Pending, wait: soon},
		"no answer":              {err: failed, state: webhook.Pending, wait: soon, says: "the host refused the connection"},
		"an unexpected error":    {err: errors.New("dial 10.0.0.1"), state: webhook.Pending, wait: soon, says: "the call failed"},
		"an address not allowed": {err: &network.Error{Code: network.AddressNotAllowed, Message: "no"}, state: webhook.Pending, wait: soon, says: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := openDesk(t, &receiver{answer: func(context.Context, network.Request) (network.Answer, error) {
					time.Sleep(time.Second)
					return test.answer, test.err
				}})
				var told []webhook.State
				d.options.OnAttempt = func(_ webhook.Attempt, s webhook.State) { told = append(told, s) }
				id := d.finish("https://example.com/hook")
				d.start()
				time.Sleep(2 * time.Second)
				synctest.Wait()
				ended := time.Now().Add(-time.Second)
				got, attempts := d.delivery(id), d.attempts(id)
				if got.State != test.state || got.Attempts != 1 || len(attempts) != 1 || len(told) != 1 || told[0] != test.state {
					t.Fatalf("it stands at %+v after %+v", got, attempts)
				}
				if a := attempts[0]; a.Status != test.answer.Status || a.Error != test.says || a.Took != time.Second {
					t.Errorf("it is kept as %+v", a)
				}
				if test.state != webhook.Pending {
					if !got.Settled.Equal(ended) {
						t.Errorf("settled at %s", got.Settled)
					}
					return
				}
				if pause := got.Due.Sub(ended); pause < test.wait.least || pause > test.wait.most {
					t.Errorf("the next is due after %s", pause)
				}
			})
		})
	}
}

func later(status int, after string) network.Answer {
	return network.Answer{Status: status, Header: map[string][]string{"Retry-After": {after}}}
}

// TestRestart closes the whole store between two attempts.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := answers(500)
		d := openDesk(t, host)
		d.start()
		id := d.finish("https://example.com/hook")
		d.sender.Wake()
		time.Sleep(time.Minute)
		synctest.Wait()
		d.stop()
		if err := d.store.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		before := len(host.received())
		host.answer = answers(200).answer
		d.open()
		d.start()
		synctest.Wait()
		calls := host.received()
		if before != 2 || len(calls) != 3 || calls[2].id != id || calls[0].id != id {
			t.Errorf("%d calls before, %d after", before, len(calls))
		}
		if got := d.delivery(id); got.State != webhook.Delivered || got.Attempts != 3 {
			t.Errorf("it stands at %+v", got)
		}
	})
}

// TestRotation signs by both secrets while both are valid.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := answers(200)
		d := openDesk(t, host)
		d.options.Secrets = func(context.Context, account.ID) ([]redacted.Text, error) {
			return []redacted.Text{"whsec_bmV3", secret}, nil
		}
		d.finish("https://example.com/hook")
		d.start()
		synctest.Wait()
		c := host.received()[0]
		if parts := strings.Split(c.signature, " "); len(parts) != 2 || parts[1] != signature(c.id, c.timestamp, c.body) {
			t.Errorf("the signature is %q", c.signature)
		}
	})
}

// TestOurFailures are none of the server's: they count as no attempt.
func TestOurFailures(t *testing.T) {
	for name, spoil := range map[string]func(o *webhook.Options, works func() bool){
		"the body": func(o *webhook.Options, works func() bool) {
			body := o.Body
			o.Body = func(ctx context.Context, d webhook.Delivery) ([]byte, error) {
				if !works() {
					return nil, errors.New("the disk is on fire")
				}
				return body(ctx, d)
			}
		},
		"a panic": func(o *webhook.Options, works func() bool) {
			body := o.Body
			o.Body = func(ctx context.Context, d webhook.Delivery) ([]byte, error) {
				if !works() {
					panic("nil")
				}
				return body(ctx, d)
			}
		},
		"the secrets": func(o *webhook.Options, works func() bool) {
			secrets := o.Secrets
			o.Secrets = func(ctx context.Context, a account.ID) ([]redacted.Text, error) {
				if !works() {
					return nil, errors.New("the disk is on fire")
				}
				return secrets(ctx, a)
			}
		},
		"no secret": func(o *webhook.Options, works func() bool) {
			secrets := o.Secrets
			o.Secrets = func(ctx context.Context, a account.ID) ([]redacted.Text, error) {
				if !works() {
					return nil, nil
				}
				return secrets(ctx, a)
			}
		},
		"a damaged secret": func(o *webhook.Options, works func() bool) {
			secrets := o.Secrets
			o.Secrets = func(ctx context.Context, a account.ID) ([]redacted.Text, error) {
				if !works() {
					return []redacted.Text{"whsec_?"}, nil
				}
				return secrets(ctx, a)
			}
		},
		"the list": func(o *webhook.Options, works func() bool) {
			o.Outbox = &lame{Outbox: o.Outbox, due: works}
		},
		"the claim": func(o *webhook.Options, works func() bool) {
			o.Outbox = &lame{Outbox: o.Outbox, claim: works}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := answers(200)
				d := openDesk(t, host)
				tries := 0
				spoil(&d.options, func() bool { tries++; return tries > 20 })
				id := d.finish("https://example.com/hook")
				d.start()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if got := d.delivery(id); got.State != webhook.Delivered || got.Attempts != 1 || len(host.received()) != 1 || tries < 21 {
					t.Errorf("after %d tries and %d calls it stands at %+v", tries, len(host.received()), got)
				}
			})
		})
	}
}

// lame is a store that fails where a function says so.
type lame struct {
	webhook.Outbox
	due, claim, settle func() bool
}

var errLame = errors.New("the disk is on fire")

func fails(works func() bool) bool { return works != nil && !works() }

func (s *lame) Due(ctx context.Context, now time.Time, limit int) ([]webhook.Delivery, error) {
	if fails(s.due) {
		return nil, errLame
	}
	return s.Outbox.Due(ctx, now, limit)
}

func (s *lame) Claim(ctx context.Context, list []webhook.Delivery, until time.Time) ([]webhook.Delivery, error) {
	if fails(s.claim) {
		return nil, errLame
	}
	return s.Outbox.Claim(ctx, list, until)
}

func (s *lame) Settle(ctx context.Context, d webhook.Delivery, a webhook.Attempt, state webhook.State, at time.Time) error {
	if fails(s.settle) {
		return errLame
	}
	return s.Outbox.Settle(ctx, d, a, state, at)
}

func TestForgottenJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := answers(200)
		d := openDesk(t, host)
		d.options.Body = func(context.Context, webhook.Delivery) ([]byte, error) {
			return nil, fmt.Errorf("body: %w", job.ErrNotFound)
		}
		id := d.finish("https://example.com/hook")
		d.start()
		synctest.Wait()
		got, attempts := d.delivery(id), d.attempts(id)
		if got.State != webhook.Stopped || len(host.received()) != 0 || len(attempts) != 1 || attempts[0].Error != "the job is kept no more" {
			t.Errorf("it stands at %+v after %+v", got, attempts)
		}
	})
}

// TestPoll finds what another process has made due.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := answers(200)
		d := openDesk(t, host)
		d.options.Poll = 0
		d.start()
		synctest.Wait()
		id := d.finish("https://example.com/hook")
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if got := d.delivery(id); got.State != webhook.Delivered {
			t.Errorf("it stands at %+v", got)
		}
	})
}

// TestSlowHost gives one server, which takes its time, hundreds of deliveries
// before others have theirs.
func TestSlowHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		under, most, slow, mostSlow := 0, 0, 0, 0
		enter := func(isSlow bool, by int) {
			mu.Lock()
			defer mu.Unlock()
			under += by
			most = max(most, under)
			if isSlow {
				slow += by
				mostSlow = max(mostSlow, slow)
			}
		}
		d := openDesk(t, &receiver{answer: func(ctx context.Context, r network.Request) (network.Answer, error) {
			isSlow := strings.Contains(r.URL, "SLOW")
			enter(isSlow, 1)
			defer enter(isSlow, -1)
			pause := time.Second
			if isSlow {
				pause = 15 * time.Second
			}
			select {
			case <-time.After(pause):
				return network.Answer{Status: 200}, nil
			case <-ctx.Done():
				return network.Answer{}, ctx.Err()
			}
		}})
		d.options.AtOnce, d.options.PerAccount, d.options.PerHost = 32, 100, 4
		for i := range 300 {
			d.finish(fmt.Sprintf("https://SLOW.example.com:%d/hook", 1+i%9))
		}
		var others []string
		for i := range 100 {
			others = append(others, d.finish(fmt.Sprintf("https://host%d.example.com/hook", i)))
		}
		d.start()
		time.Sleep(14 * time.Second)
		synctest.Wait()
		for _, id := range others {
			if got := d.delivery(id); got.State != webhook.Delivered {
				t.Fatalf("another's stands at %+v", got)
			}
		}
		mu.Lock()
		if most != 24 || mostSlow != 4 { // the last quarter is for other accounts
			t.Errorf("%d calls at once, %d to the slow host", most, mostSlow)
		}
		mu.Unlock()
		time.Sleep(time.Minute)
		mu.Lock()
		if slow != 1 {
			t.Errorf("%d calls to a host that is known to be slow", slow)
		}
		mu.Unlock()
		time.Sleep(300 * 16 * time.Second)
		synctest.Wait()
		left, err := d.store.Deliveries().List(t.Context(), d.account, webhook.Query{State: webhook.Pending, Limit: 2000})
		if err != nil || len(left) != 0 {
			t.Errorf("%d are left, %v", len(left), err)
		}
	})
}

// TestManyHostsOfOneAccount keeps an account, however many hosts it names, from
// taking all places.
func TestManyHostsOfOneAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDesk(t, &receiver{answer: func(ctx context.Context, r network.Request) (network.Answer, error) {
			if strings.Contains(r.URL, "trap") {
				<-ctx.Done()
				return network.Answer{}, ctx.Err()
			}
			return network.Answer{Status: 200}, nil
		}})
		bob, err := d.store.Accounts().Create(t.Context(), account.Account{Username: "bob", Plan: account.Standard, Created: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		d.options.Secrets = func(context.Context, account.ID) ([]redacted.Text, error) { return []redacted.Text{secret}, nil }
		for i := range 50 {
			d.finish(fmt.Sprintf("https://trap%d.example.com/", i))
		}
		id := d.finishAs(bob, "https://example.com/")
		d.start()
		synctest.Wait()
		if got := d.delivery(id); got.State != webhook.Delivered {
			t.Errorf("another's stands at %+v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.sender.Stop(ctx); err != nil { // they never end by themselves
			t.Fatal(err)
		}
	})
}

// TestManyHangingAccounts: many accounts, whose jobs name another host each that
// never answers, soon have no more than a quarter of the places together.
func TestManyHangingAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging, mu := 0, sync.Mutex{}
		hang := func(by int) {
			mu.Lock()
			hanging += by
			mu.Unlock()
		}
		d := openDesk(t, &receiver{answer: func(ctx context.Context, r network.Request) (network.Answer, error) {
			if !strings.Contains(r.URL, "trap") {
				return network.Answer{Status: 200}, nil
			}
			hang(1)
			defer hang(-1)
			select {
			case <-ctx.Done():
				return network.Answer{}, ctx.Err()
			case <-time.After(15 * time.Second):
				return network.Answer{}, &network.Error{Code: network.FetchFailed, Message: "the host took too long to answer"}
			}
		}})
		d.options.Secrets = func(context.Context, account.ID) ([]redacted.Text, error) { return []redacted.Text{secret}, nil }
		for i := range 40 {
			id, err := d.store.Accounts().Create(t.Context(), account.Account{Username: fmt.Sprintf("trapper%d", i), Plan: account.Standard, Created: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			for n := range 8 {
				d.finishAs(id, fmt.Sprintf("https://trap%d-%d.example.com/", i, n))
			}
		}
		d.start()
		time.Sleep(2*time.Minute + time.Second)
		for range 20 {
			synctest.Wait()
			mu.Lock()
			now := hanging
			mu.Unlock()
			if now == 0 || now > 16 {
				t.Errorf("%d calls hang", now)
			}
			id := d.finish("https://example.com/")
			d.sender.Wake()
			time.Sleep(250 * time.Millisecond) // that a look at many takes at most
			synctest.Wait()
			if got := d.delivery(id); got.State != webhook.Delivered {
				t.Fatalf("another's stands at %+v", got)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestTwoSenders work on one store: each delivery is sent once.
func TestTwoSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := answers(200)
		d := openDesk(t, host)
		d.options.PerAccount = 100
		for i := range 200 {
			d.finish(fmt.Sprintf("https://host%d.example.com/", i%60))
		}
		other := webhook.NewSender(d.options)
		other.Start()
		d.start()
		time.Sleep(time.Minute)
		if err := other.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.stop()
		seen := map[string]int{}
		for _, c := range host.received() {
			seen[c.id]++
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
		if len(seen) != 200 {
			t.Errorf("%d were sent", len(seen))
		}
	})
}

// TestStop breaks off what does not end in time; it is sent again.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, answer := &receiver{}, 100*time.Millisecond
		host.answer = func(ctx context.Context, r network.Request) (network.Answer, error) {
			select {
			case <-ctx.Done():
				return network.Answer{}, ctx.Err()
			case <-time.After(answer):
				return network.Answer{Status: 200}, nil
			}
		}
		d := openDesk(t, host)
		first := d.finish("https://example.com/hook")
		d.start()
		synctest.Wait()

		// One that ends in time.
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := errors.Join(d.sender.Stop(ctx), d.sender.Stop(ctx)); err != nil || time.Since(began) != answer {
			t.Errorf("%v, after %s", err, time.Since(began))
		}
		if got := d.delivery(first); got.State != webhook.Delivered {
			t.Errorf("it stands at %+v", got)
		}

		// One that does not.
		answer = 10 * time.Second
		second := d.finish("https://example.com/hook")
		for _, wait := range []time.Duration{time.Minute, 200 * time.Millisecond} {
			d.start()
			synctest.Wait()
			began = time.Now()
			ctx, cancel = context.WithTimeout(t.Context(), wait)
			defer cancel()
			if err := d.sender.Stop(ctx); err != nil || time.Since(began) != min(wait, 500*time.Millisecond) {
				t.Errorf("%v, after %s", err, time.Since(began))
			}
		}
		if got := d.delivery(second); got.State != webhook.Pending || got.Attempts != 0 || !got.Due.Equal(time.Now()) {
			t.Errorf("it stands at %+v", got)
		}
		d.start()
		time.Sleep(time.Minute)
		if got := d.delivery(second); got.State != webhook.Delivered || got.Attempts != 1 {
			t.Errorf("it stands at %+v", got)
		}

		// One that was never started.
		if err := webhook.NewSender(d.options).Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestPromiseDeliveredAfterKills lets a process die again and again between
// what it sends and what it notes: the server hears of each job at least once,
// always under the same id, and no death counts as a refusal.
func TestPromiseDeliveredAfterKills(t *testing.T) {
	kills := 5
	if os.Getenv("QL_PROMISES") == "1" {
		kills = 50
	}
	synctest.Test(t, func(t *testing.T) {
		host := answers(200)
		d := openDesk(t, host)
		store := d.options.Outbox
		ids := map[string]bool{}
		for i := range 3 {
			ids[d.finish(fmt.Sprintf("https://host%d.example.com/hook", i))] = true
		}
		for range kills {
			// What is dead notes nothing.
			d.options.Outbox = &lame{Outbox: store, settle: func() bool { return false }}
			d.start()
			synctest.Wait()
			d.stop()
			time.Sleep(time.Minute) // until the claims end
		}
		d.options.Outbox = store
		d.start()
		synctest.Wait()
		seen := map[string]int{}
		for _, c := range host.received() {
			seen[c.id]++
		}
		for id := range ids {
			if got := d.delivery(id); got.State != webhook.Delivered || got.Attempts != 1 || seen[id] != kills+1 {
				t.Errorf("after %d calls it stands at %+v", seen[id], got)
			}
		}
		if len(seen) != len(ids) {
			t.Errorf("%d ids were sent", len(seen))
		}
	})
}

package crashtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ql/internal/mail/mailtest"
)

// TestPromiseMailsAreStoredOnce has jobs send mails while the server is killed: each step has one mail, under
// the id that the job was given, and no other comes.
func TestPromiseMailsAreStoredOnce(t *testing.T) {
	const mails = 5
	kills := int64(count(3, 50))
	receiver := mailtest.Start(t, mailtest.Options{NoTLS: true})
	s := newServer(t)
	s.flags = append(s.flags, fmt.Sprintf("--mail-server=smtp://127.0.0.1:%d?tls=none", receiver.Port), "--mail-from=ql@service.example")
	s.start()
	stop := s.killing(upTo(400 * time.Millisecond))
	given, rounds := map[string]bool{}, 0
	for ; len(receiver.Mails()) == 0 || s.kills.Load() < kills; rounds++ {
		sent := query("async", `
			FOR ?i FROM 1 TO 5 DO
				MAIL TO "zoe@example.org" SUBJECT "{?i}" TEXT "x" SET ?id
				EMIT ?id, "\n"
			END`)
		sent.key = fmt.Sprint("round-", rounds) // so that one whose answer a kill cut off is no other job
		a, err := s.call(sent)
		check(t, err)
		j, err := a.job()
		check(t, err)
		job := j.ID
		ended, err := s.await(job, "complete")
		check(t, err)
		for _, id := range strings.Fields(ended.Result) {
			given[id] = true
		}
	}
	stop()
	if len(given) != rounds*mails {
		t.Errorf("%d mails have ids of %d", len(given), rounds*mails)
	}
	// One that a kill cut off in its attempt comes with the next start, and not when its claim ends,
	// minutes later. Some come twice: the server took them, and nobody was left to note it.
	came, all := map[string]bool{}, receiver.Mails()
	for {
		for _, m := range all {
			_, id, _ := strings.Cut(m.Data, "Message-ID: <")
			id, _, _ = strings.Cut(id, "@")
			if !given[id] {
				t.Fatalf("a mail came that no step has sent: %s", id)
			}
			came[id] = true
		}
		if len(came) == len(given) {
			break
		}
		all = receiver.Wait(t, len(all)+1)
	}
	t.Logf("%d mails under %d kills: %d came", len(given), s.kills.Load(), len(all))
}

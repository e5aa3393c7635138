package sqlite

import (
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/store/migrate"
)

// TestReceiptsOfAnOlderStore: what belongs to a link or a delivery is found again under
// its account, and goes with it.
func TestReceiptsOfAnOlderStore(t *testing.T) {
	folder := t.TempDir()
	steps, err := migrate.Load(migrations, "migrations")
	must(t, err)
	s, err := openSteps(t, folder, true, steps[:22])
	must(t, err)
	a, err := s.Accounts().Create(t.Context(), account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	must(t, err)
	must(t, s.write(t.Context(), func(t tx) error {
		for _, sql := range []string{
			"INSERT INTO shares (seq, token, account, path, name, size, times, used, made, expires) VALUES (7, x'01', 1, '/a', 'a', 1, 1, 1, 1, 2)",
			"INSERT INTO share_receipts (share, number, at, address, agent, client, restarts, sent) VALUES (7, 1, 5, 'here', 'agent', x'02', 3, 4)",
			"INSERT INTO deliveries (seq, id, account, job, url, state, attempts, made) VALUES (9, 'msg', 1, x'01', 'url', 'delivered', 1, 1)",
			"INSERT INTO delivery_attempts (delivery, number, at, took, status, answer, error) VALUES (9, 1, 5, 6, 200, 'ok', '')",
		} {
			if _, err := t.exec(sql); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.Close())

	s = openTest(t, Options{Folder: folder, Own: true})
	receipts, err := s.Shares().Receipts(t.Context(), a, 7)
	if err != nil || len(receipts) != 1 || receipts[0].Agent != "agent" || receipts[0].Sent != 4 || receipts[0].Restarts != 3 {
		t.Errorf("the receipts are %+v, %v", receipts, err)
	}
	attempts, err := s.Deliveries().Attempts(t.Context(), "msg")
	if err != nil || len(attempts) != 1 || attempts[0].Status != 200 || attempts[0].Answer != "ok" {
		t.Errorf("the attempts are %+v, %v", attempts, err)
	}
	must(t, s.Accounts().Delete(t.Context(), a))
	must(t, s.read(t.Context(), func(tx tx) error {
		left := int64(0)
		_, err := tx.one("SELECT (SELECT count(*) FROM share_receipts) + (SELECT count(*) FROM delivery_attempts)", func(r row) { left = r.int(0) })
		if left != 0 {
			t.Errorf("%d rows are left of an account that is gone", left)
		}
		return err
	}))
}

package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/fault"
	"ql/internal/operator"
)

// TestOwnerDeletesAccount: an account that its owner deletes over HTTP is removed with all that it has,
// jobs that wait too, and its neighbour is not.
func TestOwnerDeletesAccount(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	ada, bob := b.Account("ada", account.Standard), b.Account("bob", account.Standard)
	const script = `WRITE "hello" TO "/a.txt" CREATE TABLE visits (n INTEGER); INSERT INTO visits VALUES (1);`
	for name, key := range map[string]string{"ada": ada, "bob": bob} {
		if a := form(t, b.URL(), name, key, script); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	var job struct {
		ID string `json:"job_id"`
	}
	a := query(t, b.URL(), "ada", apptest.Password, `CONFIRM "Sure?"`)
	if err := json.Unmarshal([]byte(a.body), &job); err != nil || a.status != 202 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, b.URL()+"/v1/account", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("ada", apptest.Password)
	if a := send(t, req); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := form(t, b.URL(), "ada", ada, `EMIT 1`); a.status != 401 {
		t.Errorf("its key: %d %s", a.status, a.body)
	}
	for gone, deadline := false, time.Now().Add(30*time.Second); !gone; {
		b.Operate(func(o *operator.Operator) error {
			_, err := o.Accounts.Find(t.Context(), "ada")
			gone = fault.Is(err, fault.NotFound)
			return nil
		})
		if time.Now().After(deadline) {
			t.Fatal("the account is still there")
		}
	}
	if left, err := os.ReadDir(filepath.Join(b.Settings.Data, "accounts")); len(left) != 1 || err != nil {
		t.Errorf("folders of accounts that are left: %v, %v", left, err)
	}
	if a := get(t, b.URL()+"/v1/job/"+job.ID); a.status != 404 {
		t.Errorf("its job: %d %s", a.status, a.body)
	}
	if a := form(t, b.URL(), "bob", bob, `READ "/a.txt" SET ?text EMIT ?text`); a.status != 200 || a.body != "hello" {
		t.Errorf("the other account: %d %s", a.status, a.body)
	}
}

package operator

import (
	"context"

	"ql/internal/account"
	"ql/internal/audit"
)

// Log returns the log of an account, or, for "", the operator's own.
func (o *Operator) Log(ctx context.Context, name string) (account.ID, error) {
	if name == "" {
		return audit.Operator, nil
	}
	a, err := o.Accounts.Find(ctx, name)
	return a.ID, err
}

// LogEntries returns up to limit entries of a log, the newest first: those before a number, 0 for the
// newest.
func (o *Operator) LogEntries(ctx context.Context, id account.ID, before int64, limit int) ([]audit.Entry, error) {
	return o.store.Audit.Entries(ctx, id, before, limit)
}

// VerifyLog checks that a log is as it was appended.
func (o *Operator) VerifyLog(ctx context.Context, id account.ID) (audit.Verified, error) {
	return audit.Verify(ctx, o.store.Audit, id)
}

// LogExport logs that something of an account is brought out.
func (o *Operator) LogExport(ctx context.Context, name, what string) error {
	return o.logAct(ctx, name, audit.Exported, what)
}

// LogKeyShown logs that the API key of an account is shown.
func (o *Operator) LogKeyShown(ctx context.Context, name string) error {
	return o.logAct(ctx, name, audit.APIKeyShown, "")
}

// LogWebhookSecretShown is LogKeyShown of the secret that signs webhooks.
func (o *Operator) LogWebhookSecretShown(ctx context.Context, name string) error {
	return o.logAct(ctx, name, audit.WebhookSecretShown, "")
}

func (o *Operator) logAct(ctx context.Context, name string, act audit.Act, on string) error {
	a, err := o.Accounts.Find(ctx, name)
	if err != nil {
		return err
	}
	return o.store.Audit.Append(ctx, audit.Event{Account: a.ID, Act: act, On: on})
}

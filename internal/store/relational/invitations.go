package relational

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
)

// AddInvitation implements account.Accounts.
func (s Accounts) AddInvitation(ctx context.Context, i account.SentInvitation, most int) (id int64, err error) {
	err = s.store.write(ctx, func(t tx) error {
		var out int64
		if _, err := t.one("SELECT count(*) FROM (SELECT 1 FROM invitations WHERE expires > ? LIMIT ?) AS sent", func(r row) { out = r.int(0) }, i.Created, most); err != nil {
			return err
		}
		if out >= int64(most) {
			return account.ErrTooManyInvitations
		}
		if id, err = t.insert("id", "INSERT INTO invitations (hash, plan, email, admin, by_admin, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?)",
			i.Hash[:], string(i.Plan), i.Email, number(i.Admin), i.By, i.Created, i.Expires); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: audit.Operator, Act: audit.Invited, On: invitedTo(i.Plan, i.Email)})
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// invitedTo is what the log says of an invitation.
func invitedTo(plan account.Plan, email string) string {
	if email == "" {
		return string(plan)
	}
	return string(plan) + " " + email
}

// Invitations implements account.Accounts.
func (s Accounts) Invitations(ctx context.Context, now time.Time, limit int) (list []account.SentInvitation, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT id, hash, plan, email, admin, by_admin, created, expires FROM invitations WHERE expires > ? ORDER BY id DESC LIMIT ?", func(r row) {
			one := account.SentInvitation{
				Number: r.int(0), Invitation: account.Invitation{Plan: account.Plan(r.text(2)), Email: r.text(3), Admin: r.bool(4), By: r.text(5)},
				Created: r.time(6), Expires: r.time(7),
			}
			copy(one.Hash[:], r.bytes(1))
			list = append(list, one)
		}, now, limit)
	})
	return list, err
}

// RevokeInvitation implements account.Accounts.
func (s Accounts) RevokeInvitation(ctx context.Context, id int64, now time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		var hash []byte
		var expires time.Time
		var on string
		found, err := t.one("SELECT hash, expires, plan, email FROM invitations WHERE id = ? AND expires > ?", func(r row) {
			hash, expires, on = r.bytes(0), r.time(1), invitedTo(account.Plan(r.text(2)), r.text(3))
		}, id, now)
		switch {
		case err != nil:
			return err
		case !found:
			return account.ErrNotFound
		}
		if _, err := t.exec("DELETE FROM invitations WHERE id = ?", id); err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO spent_invitations (hash, expires, revoked) VALUES (?, ?, 1)", hash, expires); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: audit.Operator, Act: audit.Uninvited, On: on})
	})
}

package app

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/resource/databases/owned"
	"ql/internal/service"
)

// openDatabases implements service.Options.Databases.
func (a *App) openDatabases(_ context.Context, owner account.Account, l account.Limits) (service.OwnedDatabases, func(), error) {
	if err := a.parts.resources.NoDatabases(); err != nil {
		return nil, nil, err
	}
	all, release := a.parts.resources.Owned(owner.ID, l)
	return owned.Databases{All: all, Removed: func(ctx context.Context) error {
		return a.parts.inventory.Update(ctx, time.Now()) // or it would be missed
	}}, release, nil
}

package app

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/forward"
	"ql/internal/listen"
	"ql/internal/resource/databases/owned"
	"ql/internal/service"
)

// openDatabases implements service.Options.Databases.
func (a *App) openDatabases(ctx context.Context, owner account.Account, l account.Limits) (service.OwnedDatabases, func(), error) {
	if err := a.parts.resources.ClaimDatabases(ctx, owner.ID); err != nil {
		return nil, nil, err
	}
	all, release := a.parts.resources.Owned(owner.ID, l)
	return owned.Databases{All: all, Removed: func(ctx context.Context) error {
		return a.parts.inventory.Update(ctx, time.Now()) // or it would be missed
	}}, release, nil
}

// openNodes opens the ways between nodes, where there are several.
func (a *App) openNodes(ctx context.Context) (err error) {
	if a.settings.Database != "" {
		a.parts.nodes, err = forward.Open(ctx, a.settings.NodeListen, a.parts.accounts.Sealer().Token(0, "nodes"), listen.Limits{Connections: a.settings.MaxConnections})
		a.closes("ways to other nodes", a.parts.nodes.Close)
	}
	return err
}

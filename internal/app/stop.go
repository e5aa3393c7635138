package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ql/internal/guard"
	"ql/internal/listen"
)

// How long a stop takes beyond the time that settings give scripts under way.
const (
	// drainTime is for jobs to come to where they can be stored, where
	// calls took all of that time.
	drainTime = time.Second
	// settleTime is for all that is left to do.
	settleTime = 2 * time.Second
	// storeTime is what the parts that store something have at least.
	storeTime = 3 * time.Second
	// lastTime is what each part has to end once its time is over.
	lastTime = time.Second
)

// closer ends something that was started.
type closer struct {
	what  string
	least time.Duration // that it is given
	close func(context.Context) error
}

// closes notes how something is ended, before what was started earlier.
func (a *App) closes(what string, f func(context.Context) error) {
	a.closers = append(a.closers, closer{what: what, close: f})
}

// stores is closes for a part that has something to store in the end.
func (a *App) stores(what string, f func(context.Context) error) {
	a.closers = append(a.closers, closer{what: what, least: storeTime, close: f})
}

// Stop serves on for the drain delay of the settings while the service is not ready. Then it takes no more calls, waits for the scripts under way as long as the
// settings say, stores what is left to store and closes everything. Where ctx
// ends, it waits no longer. It comes to an end also where a part does not: the
// error then says what may be lost. A second call waits for the first.
func (a *App) Stop(ctx context.Context) error {
	a.stop.Do(func() {
		a.stopping.Store(true)
		if a.main != nil {
			a.o.Log.Info("the service is stopping")
			a.drain(ctx)
		}
		a.scriptsEnd = time.Now().Add(a.settings.StopTimeout)
		end := a.scriptsEnd.Add(settleTime)
		for _, c := range slices.Backward(a.closers) {
			if err := within(ctx, a.parts.guard, notBefore(end, c.least), c.close); err != nil {
				a.o.Log.Error("a part of the service failed to stop", "part", c.what, "error", err)
				a.stopErr = errors.Join(a.stopErr, fmt.Errorf("stopping the %s: %w", c.what, err))
			}
		}
	})
	return a.stopErr
}

// drain serves on while whoever sends callers here learns that they belong elsewhere: a connection that is refused
// before that is a call that fails. What others can run is left to them.
func (a *App) drain(ctx context.Context) {
	a.parts.worker.StopClaims()
	a.parts.resources.LeaveHomes()
	ctx, cancel := context.WithTimeout(ctx, a.settings.DrainDelay)
	defer cancel()
	<-ctx.Done()
}

var errHangs = errors.New("it did not end in time, and is left as it is")

// notBefore returns the moment, or one that is so far away where it comes earlier.
func notBefore(moment time.Time, away time.Duration) time.Time {
	if least := time.Now().Add(away); moment.Before(least) {
		return least
	}
	return moment
}

// within closes something, and waits for it not much longer than until then.
func within(ctx context.Context, g *guard.Guard, until time.Time, end func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	ended := make(chan error, 1)
	g.Go("stop", func() { ended <- g.DoErr("stop", func() error { return end(ctx) }) })
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last := time.NewTimer(lastTime)
	defer last.Stop()
	select {
	case err := <-ended:
		return err
	case <-last.C:
		return errHangs
	}
}

// stopServers ends the servers of callers and of visitors, both at once. That some are cut off
// after the time which settings give them is no failure of the stop: their operator wants it so.
func (a *App) stopServers(ctx context.Context) error {
	servers := slices.DeleteFunc([]*listen.Server{a.main, a.sites, a.nodes}, func(s *listen.Server) bool { return s == nil })
	cut, err := listen.ShutdownAll(ctx, a.parts.guard, a.scriptsEnd, servers)
	if cut > 0 {
		a.o.Log.Warn("calls in flight were aborted after the stop timeout: their callers got no answer, and what their scripts did stays done",
			"calls", cut, "stop_timeout", a.settings.StopTimeout.String())
	}
	return err
}

// stopMetrics ends the server of metrics, whose calls are short.
func (a *App) stopMetrics(ctx context.Context) error {
	_, err := a.metrics.Shutdown(ctx, time.Now().Add(time.Second))
	return err
}

// drained is for what works on by itself: it ends it in the time that scripts
// under way have.
func (a *App) drained(stop func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithDeadline(ctx, notBefore(a.scriptsEnd, drainTime))
		defer cancel()
		return stop(ctx)
	}
}

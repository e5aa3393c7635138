package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/admit"
	"ql/internal/audit"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/wire"
	"ql/lang/value"
)

// OwnedDatabases are an account's databases, as its owner reaches them past scripts. Errors of
// what was asked for are *value.Error, *value.LimitError or coded.
type OwnedDatabases interface {
	// List returns up to limit databases behind a name, by name.
	List(ctx context.Context, after string, limit int) ([]wire.DatabaseEntry, error)
	// Schema returns up to limit tables and views of a database behind a name, by name, and whether
	// there are more.
	Schema(ctx context.Context, name, after string, limit int) (tables []wire.TableEntry, more bool, err error)
	// Query runs SQL under a meter, and returns a JSON list of results. Fits is asked after each
	// statement whether it may be as long as it is by then, and room for the whole at the end.
	Query(ctx context.Context, name string, q *wire.SQLQuery, m *value.Meter, fits, room func(bytes int) error) (wire.Raw, error)
	// Export returns what writes a database as SQL, or a table of it as CSV.
	Export(ctx context.Context, name, table string) (func(context.Context, io.Writer) error, error)
	// Spool takes all that is to be imported, before the database is touched.
	Spool(ctx context.Context, from io.Reader) (io.ReadCloser, error)
	// Import runs SQL, or adds CSV to a table: all of it or nothing.
	Import(ctx context.Context, name, table string, from io.Reader) (int64, error)
	// Remove removes a database; emptied says that its file stays, for jobs under way.
	Remove(ctx context.Context, name string) (emptied bool, err error)
}

// ownerDatabases are an account's databases, opened for a caller.
type ownerDatabases struct {
	OwnedDatabases
	account account.ID
	limits  account.Limits
	ticket  *admit.Ticket
	ctx     context.Context // in which the ticket gives turns, within the time of a call
	spent   func()
	close   func()
}

// statementFailure is the error of SQL that somebody sent.
type statementFailure struct{ failure *wire.Error }

func (f *statementFailure) Error() string { return f.failure.Code + ": " + f.failure.Message }

// admitToDatabases lets a caller to the databases of the account that its credentials prove.
func (s *Service) admitToDatabases(ctx context.Context, c Caller, p *Credentials) (caller, account.Limits, Meta, error) {
	owner, err := s.authenticateOwner(ctx, c, p, access{"databases", passwordOrName, scope.Databases})
	meta := Meta{Origin: owner.origin}
	if err != nil {
		return owner, account.Limits{}, meta, err
	}
	l := owner.Account.Limits(s.o.Limits)
	verdict := s.countCall(owner, c, l)
	meta.Rate = &verdict
	return owner, l, meta, verdict.Err()
}

// openDatabases opens the databases of an account for something that computes, as a script does: with
// a ticket, and counted in its month. Close is to be called where there is no error.
func (s *Service) openDatabases(ctx context.Context, owner account.Account, l account.Limits, longest time.Duration) (*ownerDatabases, error) {
	spent, err := s.o.Usage.Begin(ctx, owner.ID, l)
	if err != nil {
		return nil, s.quotaError(err)
	}
	ticket, err := s.o.Gate.Acquire(ctx, admit.Request{Account: int64(owner.ID), Max: l.Concurrent, Memory: l.Memory})
	if err != nil {
		spent.Done()
		return nil, err
	}
	l.Memory = min(l.Memory, ticket.Memory())
	all, release, err := s.o.Databases(ctx, owner, l)
	if err != nil {
		ticket.Release()
		spent.Done()
		return nil, err
	}
	began := s.o.Clock()
	within, cancel := context.WithTimeout(ctx, longest)
	return &ownerDatabases{
		OwnedDatabases: all, account: owner.ID, limits: l, ticket: ticket, ctx: engine.WithPace(within, ticket),
		spent: func() {
			ran := s.o.Clock().Sub(began)
			spent.Count(ran)
			if err := s.o.Usage.Ran(context.WithoutCancel(ctx), owner.ID, ran); err != nil {
				s.o.Log.Error("what an account's SQL used was not counted", "account", owner.ID, "error", err)
			}
		},
		close: func() {
			cancel()
			release()
			ticket.Release()
			spent.Done()
		},
	}, nil
}

// fault gives the errors of databases the codes of a request.
func (d *ownerDatabases) fault(err error, limit string, longest time.Duration) error {
	var known *value.Error
	var over *value.LimitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &over) && over.Name != "time":
		return &statementFailure{&wire.Error{Code: string(fault.LimitExceeded), Message: over.Error(), Limit: over.Name, Max: over.Max}}
	case errors.As(err, &known):
		e := &wire.Error{Code: known.Code, Message: known.Message}
		if known.Limit != nil {
			e.Limit, e.Max = known.Limit.Name, known.Limit.Max
		}
		return &statementFailure{e}
	case errors.Is(d.ctx.Err(), context.DeadlineExceeded):
		return &statementFailure{&wire.Error{
			Code: string(fault.LimitExceeded), Limit: limit, Max: longest.Milliseconds(),
			Message: fmt.Sprintf("this took longer than the %g seconds that it may: nothing of it is kept", longest.Seconds()),
		}}
	}
	return err
}

// DatabaseListing is a page of an account's databases, by name.
type DatabaseListing struct {
	Meta
	Databases []wire.DatabaseEntry
	Next      string // the name that the next page begins behind, or ""
}

// Databases lists the databases of an account.
func (s *Service) Databases(ctx context.Context, c Caller, p *Credentials, after string, limit int) (DatabaseListing, error) {
	owner, limits, meta, err := s.admitToDatabases(ctx, c, p)
	l := DatabaseListing{Meta: meta}
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, limit); err != nil {
		return l, err
	}
	d, err := s.openDatabases(ctx, owner.Account, limits, limits.SyncTime)
	if err != nil {
		return l, err
	}
	defer d.close()
	l.Databases, err = d.List(d.ctx, after, limit+1)
	l.Databases, l.Next = cutPage(l.Databases, limit, func(d *wire.DatabaseEntry) string { return d.Name })
	return l, d.fault(err, limitSyncTime, limits.SyncTime)
}

// SchemaListing is a page of a database's tables and views, by name.
type SchemaListing struct {
	Meta
	Tables []wire.TableEntry
	Next   string // the name that the next page begins behind, or ""
}

// schemaBytes is what a page of a schema takes, with its written form.
const schemaBytes = 4 << 20

// Schema describes a database.
func (s *Service) Schema(ctx context.Context, c Caller, p *Credentials, name, after string, limit int) (SchemaListing, error) {
	owner, limits, meta, err := s.admitToDatabases(ctx, c, p)
	l := SchemaListing{Meta: meta}
	if err != nil {
		return l, err
	}
	if err := c.Memory.Grow(ctx, schemaBytes); err != nil {
		return l, err
	}
	d, err := s.openDatabases(ctx, owner.Account, limits, limits.SyncTime)
	if err != nil {
		return l, err
	}
	defer d.close()
	var more bool
	l.Tables, more, err = d.Schema(d.ctx, name, after, limit)
	if more && len(l.Tables) > 0 {
		l.Next = l.Tables[len(l.Tables)-1].Name
	}
	return l, d.fault(err, limitSyncTime, limits.SyncTime)
}

// limitSyncTime is the limit on the time of a call.
const limitSyncTime = "sync_time"

// SQLAnswer is what SQL gave.
type SQLAnswer struct {
	Meta
	Results wire.Raw // a JSON list
}

// QueryDatabase runs SQL on a database, within the limits of a synchronous call.
func (s *Service) QueryDatabase(ctx context.Context, c Caller, p *Credentials, name string, q *wire.SQLQuery) (SQLAnswer, error) {
	owner, limits, meta, err := s.admitToDatabases(ctx, c, p)
	a := SQLAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	if err := q.Within(wireLimits(limits)); err != nil {
		return a, err
	}
	// A caller that hangs up does not stop what may change something, as with a script.
	if q.Write {
		ctx = context.WithoutCancel(ctx)
	}
	d, err := s.openDatabases(ctx, owner.Account, limits, limits.SyncTime)
	if err != nil {
		return a, err
	}
	defer d.close()
	defer d.spent()
	most := limits.SyncOutput
	fits := func(bytes int) error {
		if bytes > most {
			return value.Exceeded("output", int64(most), "the results have more than %d bytes, which is as much as a call may answer with: ask for fewer rows", most)
		}
		return nil
	}
	a.Results, err = d.Query(d.ctx, name, q, d.meter(), fits, func(bytes int) error {
		if int64(bytes) > UnreservedBytes {
			d.ticket.Yield()
			return c.Memory.Grow(ctx, int64(bytes))
		}
		return nil
	})
	return a, d.fault(err, limitSyncTime, limits.SyncTime)
}

// meter is one that holds SQL to what a synchronous script may use.
func (d *ownerDatabases) meter() *value.Meter {
	l := d.limits.SyncMachine()
	m := &value.Meter{
		Bounds: l.Bounds, TotalFuel: l.Fuel, Reserve: l.Fuel, Memory: l.Memory, BytesLeft: l.Memory,
		Measure: func() int64 { return 0 },
		Check: func() *value.LimitError {
			if err := d.ticket.Turn(d.ctx); err != nil {
				return &value.LimitError{Name: "time", Cause: context.Cause(d.ctx)}
			}
			return nil
		},
	}
	m.End()
	return m
}

// DatabaseExport is a database on its way to its owner. Send writes it, and Close is to be called
// after that.
type DatabaseExport struct {
	Meta
	Send  func(ctx context.Context, w io.Writer) error
	Close func()
}

// ExportOf is what is to be exported.
type ExportOf struct {
	Name  string
	Table string // of which CSV is written; "" for all, as SQL
	// HeadOnly says that nothing of it will be sent, so that it is no export in the account's log.
	HeadOnly bool
}

// exportBytes is what an export holds beside the rows that it writes: pages and a connection.
const exportBytes = 8 << 20

// ExportDatabase opens a database to be written: as SQL, or a table of it as CSV. It reads as fast as
// its caller does, so an account has one on its way at a time, and holds no slot while it is waited for.
func (s *Service) ExportDatabase(ctx context.Context, c Caller, p *Credentials, of ExportOf) (DatabaseExport, error) {
	owner, limits, meta, err := s.admitToDatabases(ctx, c, p)
	x := DatabaseExport{Meta: meta}
	if err != nil {
		return x, err
	}
	id := owner.Account.ID
	if err := c.Memory.Grow(ctx, exportBytes); err != nil {
		return x, err
	}
	done, ok := s.exports.begin(id)
	if !ok {
		return x, fault.Retryable(fault.RateLimited, time.Second, "another export of the account is on its way, and one may be at a time")
	}
	leave, err := s.o.Transfers.Acquire(ctx, int64(id), limits.Concurrent)
	if err != nil {
		done()
		return x, err
	}
	all, release, err := s.o.Databases(ctx, owner.Account, limits)
	if err != nil {
		leave()
		done()
		return x, err
	}
	turns := s.o.Gate.Auxiliary(int64(id))
	x.Close = func() {
		turns.Release()
		release()
		leave()
		done()
	}
	d := &ownerDatabases{ctx: ctx}
	write, err := all.Export(engine.WithPace(ctx, turns), of.Name, of.Table)
	turns.Yield()
	if err == nil && !of.HeadOnly {
		on := "database " + of.Name
		if of.Table != "" {
			on += "." + of.Table
		}
		err = s.audit(s.acting(ctx, c, &owner.Principal), audit.Event{Account: id, Act: audit.Exported, On: on})
	}
	if err != nil {
		x.Close()
		return x, d.fault(err, "", 0)
	}
	x.Send = func(ctx context.Context, w io.Writer) error {
		ctx, cancel := context.WithTimeout(ctx, LongestTransfer)
		defer cancel()
		counted := &pacedExport{to: w, turns: turns}
		err := write(engine.WithPace(ctx, turns), counted)
		s.countEgress(ctx, id, counted.bytes)
		if err != nil && ctx.Err() == nil && counted.err == nil {
			s.o.Log.Warn("a database could not be sent to its end", "account", id, "error", err)
		}
		return err
	}
	return x, nil
}

// pacedExport writes to a caller, and holds no slot while it does.
type pacedExport struct {
	to    io.Writer
	turns engine.Pace
	bytes int64
	err   error
}

func (p *pacedExport) Write(b []byte) (int, error) {
	p.turns.Yield()
	n, err := p.to.Write(b)
	p.bytes += int64(n)
	p.err = err
	return n, err
}

// exports are the accounts that have an export on its way.
type exports struct {
	mu sync.Mutex
	of map[account.ID]bool
}

func (e *exports) begin(id account.ID) (done func(), ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of[id] {
		return nil, false
	}
	if e.of == nil {
		e.of = map[account.ID]bool{}
	}
	e.of[id] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.of, id)
	}, true
}

// DatabaseImport is what a caller sends to be imported.
type DatabaseImport struct {
	Name  string
	Table string // that CSV is added to; "" for SQL
	Size  int64  // negative where it is not known
	// Body gives its content; only then does a careful sender begin.
	Body func() (io.Reader, error)
}

// Imported is what was imported.
type Imported struct {
	Meta
	Count int64 // statements or rows
}

// ImportDatabase imports SQL or CSV: all of it, or nothing. All must be here before the database is
// touched, and until then it counts as stored.
func (s *Service) ImportDatabase(ctx context.Context, c Caller, p *Credentials, sent DatabaseImport) (Imported, error) {
	owner, limits, meta, err := s.admitToDatabases(ctx, c, p)
	a := Imported{Meta: meta}
	if err != nil {
		return a, err
	}
	most := limits.FileBytes
	if most > 0 && sent.Size > most {
		return a, fileTooLarge(most)
	}
	leave, err := s.o.Transfers.Acquire(ctx, int64(owner.Account.ID), limits.Concurrent)
	if err != nil {
		return a, err
	}
	defer leave()
	spooled, release, err := s.spoolImport(ctx, owner.Account, limits, sent)
	if err != nil {
		return a, err
	}
	defer release()
	ctx = context.WithoutCancel(ctx)
	d, err := s.openDatabases(ctx, owner.Account, limits, limits.AsyncTime)
	if err != nil {
		return a, err
	}
	defer d.close()
	defer d.spent()
	a.Count, err = d.Import(d.ctx, sent.Name, sent.Table, spooled)
	return a, d.fault(err, "async_time", limits.AsyncTime)
}

// spoolImport takes in what is to be imported. Release removes it.
func (s *Service) spoolImport(ctx context.Context, owner account.Account, l account.Limits, sent DatabaseImport) (_ io.Reader, release func(), err error) {
	all, closeAll, err := s.o.Databases(ctx, owner, l)
	if err != nil {
		return nil, nil, err
	}
	spooled, err := all.Spool(ctx, &limitedBody{open: sent.Body, most: l.FileBytes})
	if err != nil {
		closeAll()
		return nil, nil, (&ownerDatabases{ctx: ctx}).fault(err, "", 0)
	}
	return spooled, func() {
		if err := spooled.Close(); err != nil {
			s.o.Log.Error("what was imported was not removed", "account", owner.ID, "error", err)
		}
		closeAll()
	}, nil
}

// Dropped is a database that was removed.
type Dropped struct {
	Meta
	Emptied bool // its file stays, for jobs under way
}

// DropDatabase removes a database with all that is in it.
func (s *Service) DropDatabase(ctx context.Context, c Caller, p *Credentials, name string) (Dropped, error) {
	owner, limits, meta, err := s.admitToDatabases(ctx, c, p)
	a := Dropped{Meta: meta}
	if err != nil {
		return a, err
	}
	d, err := s.openDatabases(context.WithoutCancel(ctx), owner.Account, limits, limits.SyncTime)
	if err != nil {
		return a, err
	}
	defer d.close()
	a.Emptied, err = d.Remove(d.ctx, name)
	return a, d.fault(err, limitSyncTime, limits.SyncTime)
}

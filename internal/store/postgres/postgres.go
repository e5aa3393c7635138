// Package postgres keeps the service's store in a PostgreSQL database. Its statements are
// those of package relational; what it promises is proved by storetest.
//
// One goroutine writes, as in the store of SQLite: writes that come at the same time share a
// transaction, which is serializable, and each returns when it is committed. So processes
// that share a database change it one after the other, as far as it matters, and one whose
// transaction stands in the way of another's runs it again. Any number of goroutines read.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/record"
	"ql/internal/store"
	"ql/internal/store/relational"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// How long the database is waited for.
const (
	connectTimeout   = time.Second
	openTimeout      = 10 * time.Second // for the first connections of a store: nobody waits for an answer yet
	statementTimeout = 5 * time.Second
	lockTimeout      = 2 * time.Second
	// idleWriteTimeout is how long a transaction that writes may stand still, since what it has locked others wait for: a
	// process that does is frozen, or cut off.
	idleWriteTimeout = 1500 * time.Millisecond
	// cancelDelay is how long after the end of a context a statement may take to stop
	// before its connection is given up.
	cancelDelay = 500 * time.Millisecond
)

// timeouts are the settings by which the server itself bounds what is asked of it.
var timeouts = map[string]string{
	"statement_timeout": milliseconds(statementTimeout), "lock_timeout": milliseconds(lockTimeout),
	"idle_in_transaction_session_timeout": milliseconds(2 * statementTimeout),
}

// localTimeouts sets them for one transaction.
var localTimeouts = func() (sql string) {
	for name, value := range timeouts {
		sql += "; SET LOCAL " + name + " = " + value
	}
	return sql
}()

// Options are how a store is opened. A zero field means its default.
type Options struct {
	// URL says where the database is: postgres://user@host/db?sslmode=…
	URL string
	// Direct says where it is without the pooler that URL leads to, which gives a connection away after each
	// transaction; "" where URL leads to the database, or to a pooler that does not.
	Direct string
	// Migrate brings the schema up to date, as a server does. Without it a schema that is
	// not is refused, unless there is none yet.
	Migrate bool

	Readers int // connections that read; 8 and twice the cores

	// ValidFor is for how long after a renewal a member answers from what it remembers, and
	// how long who changes an account waits for members that do not renew; 3 seconds. It is
	// the same for all processes of a database.
	ValidFor time.Duration

	// Actor is who makes changes whose context names nobody, for the logs of accounts; the
	// service unless set.
	Actor audit.Actor
	// Grown is told by how many bytes the records of an account grow, by this process;
	// may be left out. One that is run again tells of it again.
	Grown func(a account.ID, bytes int64)
	// Migrated is told that the schema was brought from one version to another; may be left
	// out.
	Migrated func(from, to int, took time.Duration)

	schema *schema // what this program knows of it; set by tests of several versions
}

func (o Options) withDefaults() Options {
	if o.Readers <= 0 {
		o.Readers = 8 + 2*runtime.GOMAXPROCS(0)
	}
	if o.ValidFor <= 0 {
		o.ValidFor = ValidFor
	}
	if o.Actor.By == "" {
		o.Actor.By = audit.ByService
	}
	if o.Migrated == nil {
		o.Migrated = func(int, int, time.Duration) {}
	}
	return o
}

// Store is an open store. It may be used by any number of goroutines.
type Store struct {
	*relational.Store

	config   *pgconn.Config
	direct   *pgconn.Config // of connections that have something of their own, such as what they listen to
	writer   *writer
	locker   *writer               // of changes that lock what they go by
	appender appender              // of changes of databases
	failing  atomic.Pointer[error] // what the storage last did to a change; nil after a commit
	readers  *readers
	counters *readers // connections for what buckets count
	versions versions
	// membership and hints have connections of their own.
	membership membership
	hints      *hints
	validFor   time.Duration
	schema     *schema
	finished   atomic.Bool  // all contracts were run
	probed     atomic.Int64 // when Writable tried last, in nanoseconds of Unix
}

var (
	_ store.Backend     = (*Store)(nil)
	_ relational.Engine = (*Store)(nil)
)

// Open opens the store of a database and brings it up to date.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	if o.schema == nil {
		known, err := loadSchema()
		if err != nil {
			return nil, err
		}
		o.schema = known
	}
	config, direct, err := parseBoth(o.URL, o.Direct)
	if err != nil {
		return nil, err
	}
	patient := config.Copy()
	patient.ConnectTimeout = openTimeout
	s := &Store{config: config, direct: direct, validFor: o.ValidFor, schema: o.schema}
	s.membership.store, s.appender.store, s.hints = s, s, newHints(s)
	c, err := connect(ctx, patient)
	if err != nil {
		return nil, err
	}
	if err := migrateSchema(ctx, c, o.schema.steps, o); err != nil {
		return nil, errors.Join(explain(err), c.close())
	}
	c.session.Actor, c.session.Grown, c.session.SetsErrorCodes, c.session.MinReader = o.Actor, o.Grown, true, minReader
	ids, err := openIDs(ctx, c)
	if err != nil {
		return nil, errors.Join(explain(err), c.close())
	}
	c.session.IDs, c.session.Elsewhere, c.session.Node = ids, relational.NewElsewhereCounts(), &relational.Node{}
	s.Store = relational.New(s, ids)
	s.AcceptTogether(beside{s})
	if s.writer, err = newWriter(ctx, c, s, serializable); err != nil {
		return nil, errors.Join(explain(err), c.close())
	}
	second, err := connect(ctx, patient)
	if err != nil {
		return nil, errors.Join(err, s.writer.close())
	}
	second.session = c.session
	second.session.Conn, second.session.Beside = second, true
	if s.locker, err = newWriter(ctx, second, s, readCommitted); err != nil {
		return nil, errors.Join(explain(err), second.close(), s.writer.close())
	}
	s.readers = newReaders(o.Readers, func(ctx context.Context) (*conn, error) {
		c, err := connect(ctx, config)
		if err == nil {
			c.session.IDs = ids
		}
		return c, err
	})
	s.counters = newReaders(counterConns, func(ctx context.Context) (*conn, error) { return openCounter(ctx, direct) })
	return s, nil
}

// parseBoth reads where the database is, and where it is without a pooler.
func parseBoth(url, direct string) (pooled, own *pgconn.Config, err error) {
	if direct == "" {
		own, err = parse(url)
		return own, own, err
	}
	if own, err = parse(direct); err != nil {
		return nil, nil, err
	}
	if pooled, err = parse(url); err != nil {
		return nil, nil, err
	}
	pooled.AfterConnect = nil // what it set would stay with whoever gets the connection next
	return pooled, own, nil
}

// isPooled tells whether connections are given away after each transaction.
func isPooled(c *pgconn.Config) bool { return c.AfterConnect == nil }

// parse reads where the database is. The error shows no password.
func parse(url string) (*pgconn.Config, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, fault.New(fault.InvalidRequest, "--database must be like postgres://user@host/database")
	}
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "--database is not readable: it must be like postgres://user@host/database?sslmode=verify-full").WithCause(err)
	}
	config.ConnectTimeout = connectTimeout
	for name, value := range map[string]string{"application_name": "ql", "client_encoding": "UTF8", "timezone": "UTC"} {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	var set []string
	for name, value := range timeouts {
		if _, given := config.RuntimeParams[name]; !given {
			set = append(set, "SET "+name+" = "+value)
		}
	}
	// Not with the parameters of the start: PgBouncer refuses those that it does not know.
	config.AfterConnect = func(ctx context.Context, c *pgconn.PgConn) error {
		answers, err := c.Exec(ctx, strings.Join(append(set[:len(set):len(set)], "SELECT pg_backend_pid()"), "; ")).ReadAll()
		if err == nil && isByPooler(c, answers) {
			c.CustomData()[byPooler] = true
		}
		return err
	}
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelDelay}
	}
	return config, nil
}

func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// openIDs opens the ids of this process, beside whatever others do meanwhile.
func openIDs(ctx context.Context, c *conn) (ids *relational.IDs, err error) {
	until := time.Now().Add(conflictTime)
	for tries := 0; ; tries++ {
		if ids, err = tryOpenIDs(ctx, c); !isConflict(err) || time.Now().After(until) {
			return ids, err
		}
		pause(tries)
	}
}

func tryOpenIDs(ctx context.Context, c *conn) (*relational.IDs, error) {
	if err := c.begin(ctx, serializable); err != nil {
		return nil, err
	}
	ids, err := relational.OpenIDs(relational.NewTx(ctx, &c.session))
	if err != nil {
		return nil, errors.Join(err, c.run(ctx, "ROLLBACK"))
	}
	return ids, c.run(ctx, "COMMIT")
}

// Read implements relational.Engine.
func (s *Store) Read(ctx context.Context, f func(relational.Tx) error) error {
	return s.readers.read(ctx, f)
}

// Write implements relational.Engine.
func (s *Store) Write(ctx context.Context, f func(relational.Tx) error) error {
	return s.writer.write(ctx, f)
}

// WriteLocking implements relational.Engine.
func (s *Store) WriteLocking(ctx context.Context, f func(relational.Tx) error) error {
	return s.locker.write(ctx, f)
}

// WriteFreeing implements relational.Engine.
func (s *Store) WriteFreeing(ctx context.Context, f func(relational.Tx) error) error {
	return s.writer.write(ctx, f)
}

// Freed implements relational.Engine.
func (s *Store) Freed() {}

// Aggregate returns the store by the interfaces that it implements.
func (s *Store) Aggregate() store.Store {
	all := s.Store.Aggregate()
	all.Backend, all.Versions, all.SiteVersions, all.Log = s, s, s, noLog{s}
	all.Members, all.Hints, all.Turns, all.Buckets = members{all.Members, s}, s.hints, s.Sessions(), buckets{s.Store.Buckets(), s}
	all.Allotments, all.Shipped = allotments{s}, shipped{all.Shipped, s}
	return all
}

// noLog takes no records: whoever has one to store that must last stores it.
type noLog struct{ store *Store }

// Append implements record.Log.
func (noLog) Append([]*job.Record) (record.Position, error) { return 0, record.ErrNoRoom }

// Store implements record.Log.
func (l noLog) Store(ctx context.Context, records []job.Record, _ record.Position) error {
	return l.store.Jobs().Record(ctx, records)
}

// probeEvery is how often a store that cannot be written to is tried, at most.
const probeEvery = time.Second

// Writable implements store.Backend.
func (s *Store) Writable(ctx context.Context) error {
	failing := s.failing.Load()
	if failing == nil {
		return nil
	}
	now := time.Now().UnixNano()
	if last := s.probed.Load(); now-last < int64(probeEvery) || !s.probed.CompareAndSwap(last, now) {
		return *failing
	}
	return s.Write(ctx, func(relational.Tx) error { return nil })
}

// Locked implements store.Backend: that this process alone serves is said by its membership.
func (s *Store) Locked() bool { return true }

// Vacuum implements store.Backend: the database has its own.
func (s *Store) Vacuum(context.Context) (bool, error) { return false, nil }

// Stats implements store.Backend.
func (s *Store) Stats() store.Stats {
	all := store.Stats{Failing: s.failing.Load() != nil}
	for _, w := range []*writer{s.writer, s.locker, s.appender.opened.Load()} {
		if w != nil {
			all.Writes += w.writes.Load()
			all.Commits += w.commits.Load()
			all.Waiting += w.group.Waiting()
		}
	}
	return all
}

// Close waits for the reads and writes under way and closes the store. A second time it does
// nothing.
func (s *Store) Close() error {
	return errors.Join(s.readers.close(), s.counters.close(), s.appender.close(), s.locker.close(), s.writer.close(), s.membership.close())
}

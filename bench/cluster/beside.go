package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ql/bench/load"
)

// What jobs are measured beside: those that ended, of which the node keeps the record, and one in so many that waits.
const (
	besideAccounts = 1_000
	waitingOneIn   = 10
	endedState     = "complete"
	waitingState   = "waiting"
)

// startBeside starts a node on a database of its own, and fills that with jobs of other accounts.
func (in *instances) startBeside(ctx context.Context, o *options) (err error) {
	if in.beside, err = load.StartService(ctx, in.on(besideDatabase, o)); err != nil {
		return err
	}
	for _, script := range []string{trivial, "WAIT 30 DAYS"} {
		if err := call(ctx, in.beside, script, "async", "accepted", ""); err != nil {
			return err
		}
	}
	var conns [2]*pgx.Conn
	for i := range conns {
		if conns[i], err = pgx.Connect(ctx, in.postgres.URL(besideDatabase)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conns[i].Close(context.WithoutCancel(ctx))) }()
	}
	for _, state := range []string{endedState, waitingState} {
		if err := awaitJob(ctx, conns[0], state); err != nil {
			return err
		}
	}
	return fill(ctx, conns[0], conns[1], o.beside)
}

// awaitJob returns when there is a job in a state that no node holds.
func awaitJob(ctx context.Context, conn *pgx.Conn, state string) error {
	const patience, each = 20 * time.Second, 20 * time.Millisecond
	for end := time.Now().Add(patience); ; {
		var there bool
		if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM jobs WHERE state = $1 AND member IS NULL)", state).Scan(&there); err != nil || there {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("no job became %s in time", state)
		}
		if err := load.Pause(ctx, each); err != nil {
			return err
		}
	}
}

// fill adds so many jobs, copies of the two that are there: rows are made by one connection, and stored by the other.
func fill(ctx context.Context, from, to *pgx.Conn, n int) error {
	accounts, err := columnsBut(ctx, to, "accounts", "id", "username", "key_hash", "sealed_key")
	if err != nil {
		return err
	}
	if _, err := to.Exec(ctx, "INSERT INTO accounts (username, "+accounts+") SELECT 'beside' || n, "+accounts+" FROM generate_series(1, $1) n, accounts WHERE username = 'bench'", besideAccounts); err != nil {
		return err
	}
	jobs, err := columnsBut(ctx, to, "jobs", "seq", "id", "account")
	if err != nil {
		return err
	}
	made := fmt.Sprintf(`COPY (SELECT substring(decode(md5(n::text) || md5('more ' || n), 'hex') FROM 1 FOR octet_length(j.id)), a.id, %s
		FROM generate_series(1, %d) n
		JOIN jobs j ON j.seq = (SELECT max(seq) FROM jobs WHERE state = CASE WHEN n %% %d = 0 THEN '%s' ELSE '%s' END)
		JOIN (SELECT id, row_number() OVER (ORDER BY id) AS nth FROM accounts WHERE username LIKE 'beside%%') a ON a.nth = 1 + n %% %d) TO STDOUT (FORMAT binary)`,
		prefixed("j.", jobs), n, waitingOneIn, waitingState, endedState, besideAccounts)
	reader, writer := io.Pipe()
	copied := make(chan error, 1)
	go func() {
		_, err := from.PgConn().CopyTo(ctx, writer, made)
		writer.CloseWithError(err)
		copied <- err
	}()
	_, err = to.PgConn().CopyFrom(ctx, reader, "COPY jobs (id, account, "+jobs+") FROM STDIN (FORMAT binary)")
	reader.CloseWithError(err)
	if err := errors.Join(err, <-copied); err != nil {
		return err
	}
	// What autovacuum would do in its time.
	_, err = to.Exec(ctx, "VACUUM (ANALYZE) jobs")
	return err
}

// columnsBut lists the columns of a table without some of them.
func columnsBut(ctx context.Context, conn *pgx.Conn, table string, but ...string) (names string, err error) {
	err = conn.QueryRow(ctx, "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL ($2)", table, but).Scan(&names)
	return names, err
}

func prefixed(prefix, columns string) string {
	return prefix + strings.ReplaceAll(columns, ", ", ", "+prefix)
}

// jobCost returns how many milliseconds a node takes for a job.
func jobCost(ctx context.Context, o *options, s *load.Service) (float64, error) {
	rate, _, err := submitted(ctx, o, trivial, []*load.Service{s}, s)
	if err != nil {
		return 0, err
	}
	return 1e3 / rate, nil
}

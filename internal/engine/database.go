package engine

import "ql/lang/value"

// mainDatabase is the database of statements that name none.
const mainDatabase = "main"

func (c *call) database() string {
	if c.effect.Database == "" {
		return mainDatabase
	}
	return c.effect.Database
}

func sql(c *call) (value.Value, error) {
	q := Query{Statement: c.effect.Statement, Params: c.args, Meter: c.meter, Savepoint: c.effect.Savepoint}
	switch {
	case c.o.Databases == nil:
		return value.Null, missing("databases")
	case c.tx != nil: // the machine sees to it that the database is the same
		return c.tx.Query(c.ctx, q)
	}
	q.Receipt = c.receipt(c.database())
	return c.o.Databases.Query(c.ctx, c.database(), q)
}

func txBegin(c *call) (value.Value, error) {
	if c.o.Databases == nil {
		return value.Null, missing("databases")
	}
	tx, err := c.o.Databases.Begin(c.ctx, c.database())
	if err != nil {
		return value.Null, err
	}
	c.tx, c.txDatabase = tx, c.database()
	return value.Null, nil
}

// commitFuel is what a commit costs, wherever its result is committed.
const commitFuel = 5_000

// txCommit leaves a transaction that cannot be committed open: the machine
// rolls it back as it does at any other error.
func txCommit(c *call) (value.Value, error) {
	if c.tx == nil {
		return value.Null, nil
	}
	c.meter.Work(commitFuel)
	Yield(c.ctx)
	if err := c.tx.Commit(c.ctx, c.receipt(c.txDatabase)); err != nil {
		return value.Null, err
	}
	c.tx = nil
	return value.Null, nil
}

func txRollback(c *call) (value.Value, error) {
	if c.tx == nil {
		return value.Null, nil
	}
	tx := c.tx
	c.tx = nil
	return value.Null, tx.Rollback()
}

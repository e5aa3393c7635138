package sessions

import (
	"context"
	"errors"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/lang/value"
)

// Caller is one caller of one account, with the id that it brought. It is used
// by one run at a time.
type Caller struct {
	store    *Manager
	account  account.ID
	id       string
	maxBytes int
	maxKeys  int
	most     int // sessions of the account
	held     *session
}

var (
	_ engine.Sessions = (*Caller)(nil)
	_ engine.Session  = (*session)(nil)
)

// For returns the caller of an account that brought this id; "" where it
// brought none.
func (s *Manager) For(a account.ID, id string) *Caller {
	return &Caller{store: s, account: a, id: id, maxBytes: s.options.MaxBytes, maxKeys: s.options.MaxKeys, most: s.options.MaxSessions}
}

// Bounds hold the sessions of an account.
type Bounds struct {
	Bytes    int // of one session's data as JSON
	Keys     int // of one session
	Sessions int // of the account: where another is made, the one unused for longest ends
}

// WithBounds gives the caller other bounds than the store's, such as those of the
// account's plan.
func (c *Caller) WithBounds(b Bounds) *Caller {
	c.maxBytes, c.maxKeys, c.most = b.Bytes, b.Keys, b.Sessions
	return c
}

// ID returns the id of the caller's session, for the caller to bring again:
// after Start that of the session that was found or made, "" after its End.
func (c *Caller) ID() string { return c.id }

// Start attaches to the caller's session, or to a new one where the id is
// unknown or its time is over: an id is never taken over from outside. Until
// it is let go, other runs on the session wait.
func (c *Caller) Start(ctx context.Context) (engine.Session, error) {
	if c.held != nil {
		return c.held, nil
	}
	if c.id != "" {
		k := keyOf(c.account, c.id)
		if err := c.store.acquire(ctx, k); err != nil {
			return nil, err
		}
		known, err := c.store.touch(ctx, k)
		var holder int64
		if err == nil && known {
			holder, known, err = c.store.take(ctx, k)
		}
		if err == nil && known {
			c.held = &session{caller: c, key: k, holder: holder}
			return c.held, nil
		}
		c.store.locks.Unlock(k)
		if err != nil {
			return nil, err
		}
	}
	id, err := c.store.create(ctx, c.account, c.most)
	if err != nil {
		return nil, err
	}
	k := keyOf(c.account, id)
	if err := c.store.acquire(ctx, k); err != nil {
		return nil, err
	}
	holder, known, err := c.store.take(ctx, k)
	if err != nil || !known {
		c.store.locks.Unlock(k)
		if err == nil {
			err = gone()
		}
		return nil, err
	}
	c.id = id
	c.held = &session{caller: c, key: k, holder: holder}
	return c.held, nil
}

// Ensure makes sure that the caller has a session, without taking it, and returns
// its id: for a run that will start it later.
func (c *Caller) Ensure(ctx context.Context) (string, error) {
	if c.id != "" {
		known, err := c.store.touch(ctx, keyOf(c.account, c.id))
		if err != nil || known {
			return c.id, err
		}
	}
	id, err := c.store.create(ctx, c.account, c.most)
	if err == nil {
		c.id = id
	}
	return c.id, err
}

// session is a session held by one run.
type session struct {
	caller *Caller
	key    Key
	holder int64 // see Manager.take
}

// check refuses the use of a session that was let go.
func (s *session) check() error {
	if s.caller.held != s {
		return gone()
	}
	return nil
}

// data reads the whole session.
func (s *session) data(ctx context.Context) (*value.Map, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	row, err := s.caller.store.load(ctx, s.key, s.holder)
	if err != nil {
		return nil, err
	}
	return parse(row.Data)
}

// parse reads what a session holds.
func parse(text string) (*value.Map, error) {
	v, err := value.ParseJSON(nil, text)
	if err != nil || !v.IsMap() {
		return nil, errors.New("a session holds no JSON map")
	}
	return v.Map(), nil
}

// Get returns one value, null where there is none.
func (s *session) Get(ctx context.Context, key string) (value.Value, error) {
	data, err := s.data(ctx)
	if err != nil {
		return value.Null, err
	}
	v, _ := data.Get(key)
	return v, nil
}

// All returns all values as a map.
func (s *session) All(ctx context.Context) (value.Value, error) {
	data, err := s.data(ctx)
	if err != nil {
		return value.Null, err
	}
	return data.Value(), nil
}

// Set keeps a value. When it returns, the value is on the disk.
func (s *session) Set(ctx context.Context, key string, v value.Value) error {
	c := s.caller
	// Its size is asked first, so that nothing large is made, or looked through, in
	// vain.
	if !value.FitsJSON(v, c.maxBytes) {
		return s.full("session_bytes", c.maxBytes)
	}
	if holdsBytes(v) {
		return value.Errorf(value.WrongKind, "a session cannot hold bytes: BASE64(…) makes a text of them, a file keeps them as they are")
	}
	return s.update(ctx, func(data *value.Map) error {
		data.Set(nil, value.Text(key), v)
		switch {
		case data.Len() > c.maxKeys:
			return s.full("session_keys", c.maxKeys)
		case !value.FitsJSON(data.Value(), c.maxBytes):
			return s.full("session_bytes", c.maxBytes)
		}
		return nil
	})
}

func (s *session) full(limit string, most int) error {
	return value.Errorf("session_full", "a session holds at most %d bytes as JSON under %d keys: keep large values in a file or a database", s.caller.maxBytes, s.caller.maxKeys).
		AtLimit(limit, int64(most))
}

// Unset removes a value.
func (s *session) Unset(ctx context.Context, key string) error {
	return s.update(ctx, func(data *value.Map) error {
		data.Remove(nil, key)
		return nil
	})
}

// update changes what the session holds, on the disk too.
func (s *session) update(ctx context.Context, f func(*value.Map) error) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.caller.store.update(ctx, s.key, s.holder, func(text string) (string, error) {
		data, err := parse(text)
		if err != nil {
			return "", err
		}
		if err := f(data); err != nil {
			return "", err
		}
		return string(value.AppendJSON(nil, data.Value())), nil
	})
}

// End removes the session and lets go of it. The caller's next one is new.
func (s *session) End(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.caller.store.remove(ctx, s.key, s.holder); err != nil {
		return err
	}
	s.caller.id = ""
	return s.Release()
}

// Release lets go of the session. A second time it does nothing.
func (s *session) Release() error {
	if s.caller.held == s {
		s.caller.held = nil
		s.caller.store.giveBack(s.key, s.holder)
		s.caller.store.locks.Unlock(s.key)
	}
	return nil
}

// holdsBytes reports whether v is or contains bytes, which JSON cannot hold.
func holdsBytes(v value.Value) bool {
	switch v.Kind() {
	case value.KindBytes:
		return true
	case value.KindList:
		l := v.List()
		for i := range l.Len() {
			if holdsBytes(l.At(i)) {
				return true
			}
		}
	case value.KindMap:
		for _, e := range v.Map().All {
			if holdsBytes(e) {
				return true
			}
		}
	}
	return false
}

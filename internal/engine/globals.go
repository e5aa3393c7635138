package engine

import (
	"context"

	"ql/lang/value"
)

// sessionStart takes the session, unless the run has it already.
func sessionStart(c *call) (value.Value, error) {
	if c.o.Sessions == nil {
		return value.Null, missing("sessions")
	}
	c.state.Session = true
	if _, err := c.openSession(); err != nil {
		c.state.Session = false
		return value.Null, err
	}
	return value.Null, nil
}

// openSession returns the session that the script has started, taking it again where
// a pause let go of it.
func (c *call) openSession() (Session, error) {
	Yield(c.ctx) // for what comes: another run may have it, and it is on the disk
	if c.session != nil {
		return c.session, nil
	}
	if !c.state.Session || c.o.Sessions == nil {
		return nil, value.Errorf("no_session", "there is no session yet: write START SESSION first")
	}
	s, err := c.o.Sessions.Start(c.ctx)
	if err != nil {
		return nil, err
	}
	c.session = s
	return s, nil
}

func sessionGet(c *call) (value.Value, error) {
	s, err := c.openSession()
	if err != nil {
		return value.Null, err
	}
	if c.optional(0).IsNull() {
		return s.All(c.ctx)
	}
	key, err := c.text(0, "the name of an entry of !SESSION")
	if err != nil {
		return value.Null, err
	}
	return s.Get(c.ctx, key)
}

func sessionSet(c *call) (value.Value, error) {
	s, err := c.openSession()
	if err != nil {
		return value.Null, err
	}
	key, err := c.text(0, "the name of an entry of !SESSION")
	if err != nil {
		return value.Null, err
	}
	return value.Null, s.Set(c.checkpoint(), key, c.args[1])
}

func sessionUnset(c *call) (value.Value, error) {
	s, err := c.openSession()
	if err != nil {
		return value.Null, err
	}
	key, err := c.text(0, "the name of an entry of !SESSION")
	if err != nil {
		return value.Null, err
	}
	return value.Null, s.Unset(c.checkpoint(), key)
}

func sessionEnd(c *call) (value.Value, error) {
	s, err := c.openSession()
	if err != nil {
		return value.Null, err
	}
	if err := s.End(c.checkpoint()); err != nil {
		return value.Null, err
	}
	c.session, c.state.Session = nil, false
	return value.Null, nil
}

func accountGet(c *call) (value.Value, error) { return c.entry("!ACCOUNT", c.o.Account) }
func quotaGet(c *call) (value.Value, error)   { return c.entry("!QUOTA", c.o.Quota) }

func jobGet(c *call) (value.Value, error) {
	v, err := c.entry("!JOB", func(ctx context.Context) (value.Value, error) {
		all := value.NewMap(nil, 1).Value()
		if c.o.Job != nil {
			var err error
			if all, err = c.o.Job(ctx, c.state.Asked); err != nil {
				return value.Null, err
			}
		}
		all.Map().SetText("answer", c.state.Answered.value())
		return all, nil
	})
	if err == nil {
		c.noteJobRead(c.args)
	}
	return v, err
}

// FormURL is the entry of !JOB with the address of the next question's page.
const FormURL = "form_url"

// noteJobRead remembers that the script has read the address of its next question's page.
func (r *Run) noteJobRead(args []value.Value) {
	if len(args) == 0 || args[0].IsNull() || args[0].IsText() && args[0].Str() == FormURL {
		r.state.Sent = r.state.Asked + 1
	}
}

// entry returns one entry of a global, or all of it.
func (c *call) entry(global string, read func(context.Context) (value.Value, error)) (value.Value, error) {
	all := value.NewMap(nil, 0).Value()
	if read != nil {
		Yield(c.ctx)
		v, err := read(c.ctx)
		if err != nil {
			return value.Null, err
		}
		all = v
	}
	if c.optional(0).IsNull() {
		return all, nil
	}
	key, err := c.text(0, "the name of an entry of "+global)
	if err != nil {
		return value.Null, err
	}
	v, _ := all.Map().Get(key)
	return v, nil
}

func secretGet(c *call) (value.Value, error) {
	if c.optional(0).IsNull() {
		return value.Null, value.Errorf(value.BadArgument, "!SECRET wants the name of a secret, such as !SECRET('api_key')")
	}
	name, err := c.text(0, "the name of a secret")
	if err != nil {
		return value.Null, err
	}
	if c.o.Secrets != nil {
		Yield(c.ctx)
		secret, found, err := c.o.Secrets.Secret(c.ctx, name)
		if err != nil {
			return value.Null, err
		}
		if found {
			c.addSecret(secret)
			return value.Text(secret), nil
		}
	}
	return value.Null, value.Errorf("secret_not_found", "there is no secret named %s", value.Quote(name))
}

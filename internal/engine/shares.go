package engine

import "ql/lang/value"

func share(c *call) (value.Value, error) {
	if c.o.Shares == nil {
		return value.Null, missing("links")
	}
	s, err := c.share()
	if err != nil {
		return value.Null, err
	}
	// Made up before it is stored, so that a run that is repeated gives the same.
	link := c.o.Shares.Link()
	c.meter.Alloc(value.BlockSize(len(link)))
	result := value.Text(link)
	Yield(c.ctx)
	return result, c.o.Shares.Share(c.checkpointResult(result), link, s)
}

// share reads what the script says of a link.
func (c *call) share() (s Share, err error) {
	if s.Path, err = c.path(0); err != nil {
		return s, err
	}
	if v := c.args[1]; !v.IsNull() {
		if !v.IsInt() {
			return s, value.Errorf(value.WrongKind, "TIMES takes a whole number, not %s", value.Describe(v))
		}
		n := v.Int64()
		s.Times = &n
	}
	s.Unlimited = c.args[2].Truthy()
	if v := c.args[3]; !v.IsNull() {
		d, err := duration(v, "FOR")
		if err != nil {
			return s, err
		}
		s.For = &d
	}
	if !c.args[4].IsNull() {
		name, err := c.text(4, "the name that NAMED takes")
		if err != nil {
			return s, err
		}
		s.Name = &name
	}
	return s, nil
}

func unshare(c *call) (value.Value, error) {
	if c.o.Shares == nil {
		return value.Null, missing("links")
	}
	link, err := c.text(0, "the link that UNSHARE takes")
	if err != nil {
		return value.Null, err
	}
	Yield(c.ctx)
	return value.Null, c.o.Shares.Unshare(c.checkpoint(), link)
}

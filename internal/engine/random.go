package engine

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"ql/internal/password"
	"ql/lang/value"
)

// now gives whole seconds: times of one length are in order when their texts
// are.
func now(c *call) (value.Value, error) {
	return value.Text(c.o.Clock().UTC().Format(time.RFC3339)), nil
}

func (r *Run) uint64() (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(r.o.Rand, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func random(c *call) (value.Value, error) {
	low, high := c.optional(0), c.optional(1)
	if low.IsNull() && high.IsNull() {
		n, err := c.uint64()
		if err != nil {
			return value.Null, err
		}
		v, _ := value.Number(float64(n>>11) / (1 << 53))
		return v, nil
	}
	if !low.IsInt() || !high.IsInt() {
		return value.Null, value.Errorf(value.BadArgument, "RANDOM takes nothing, or two whole numbers such as RANDOM(1, 6), not %s and %s", value.Describe(low), value.Describe(high))
	}
	if low.Int64() > high.Int64() {
		return value.Null, value.Errorf(value.BadArgument, "RANDOM takes the lower number first, not %d and then %d", low.Int64(), high.Int64())
	}
	n, err := c.below(uint64(high.Int64()) - uint64(low.Int64()) + 1)
	if err != nil {
		return value.Null, err
	}
	return value.Int(low.Int64() + int64(n)), nil
}

// below returns a number from 0 up to but not n, each as likely as the others;
// 0 stands for 2^64.
func (r *Run) below(n uint64) (uint64, error) {
	for {
		x, err := r.uint64()
		if err != nil || n == 0 {
			return x, err
		}
		// The numbers up to the last whole multiple of n are fair.
		if rest := -n % n; x >= rest {
			return x % n, nil
		}
	}
}

// optional returns argument i, null where the script gave fewer.
func (c *call) optional(i int) value.Value {
	if i < len(c.args) {
		return c.args[i]
	}
	return value.Null
}

// NewUUID returns a random UUID, version 4.
func NewUUID(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	b[6] = b[6]&0x0F | 0x40
	b[8] = b[8]&0x3F | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}

func newUUID(c *call) (value.Value, error) {
	id, err := NewUUID(c.o.Rand)
	if err != nil {
		return value.Null, err
	}
	return value.Text(id), nil
}

// Bytes of a TOKEN.
const (
	tokenBytes    = 32
	minTokenBytes = 16
	maxTokenBytes = 64
)

func token(c *call) (value.Value, error) {
	n := int64(tokenBytes)
	if v := c.optional(0); !v.IsNull() {
		if !v.IsInt() || v.Int64() < minTokenBytes || v.Int64() > maxTokenBytes {
			return value.Null, value.Errorf(value.BadArgument, "TOKEN takes a number of bytes from %d to %d, not %s", minTokenBytes, maxTokenBytes, value.Describe(v))
		}
		n = v.Int64()
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c.o.Rand, b); err != nil {
		return value.Null, err
	}
	return value.Text(base64.RawURLEncoding.EncodeToString(b)), nil
}

// passwordFuel is what hashing a password costs: some 30 ms of one core.
const passwordFuel = 3_000_000

// hashing runs f, which makes a hash of so much work, when it is the account's turn.
func (c *call) hashing(work uint64, f func() error) error {
	// A hash that a script hands over may ask for much more than one of ours.
	c.meter.Work(int(1 + (work*passwordFuel-1)/password.DefaultWork))
	Yield(c.ctx) // the gate bounds them, not the slots
	leave, err := c.o.Passwords.Acquire(c.ctx, password.Request{Holder: c.o.Holder, Work: work})
	if err != nil {
		return err
	}
	defer leave()
	return f()
}

func passwordHash(c *call) (v value.Value, err error) {
	if c.args[0].IsNull() {
		return value.Null, nil
	}
	text, err := c.text(0, "the password that PASSWORD_HASH takes")
	if err != nil {
		return value.Null, err
	}
	if len(text) > password.MaxLength {
		return value.Null, value.Errorf(value.BadArgument, "%s", password.ErrTooLong)
	}
	err = c.hashing(password.DefaultWork, func() error {
		phc, err := password.Hash(text, c.o.Rand)
		v = value.Text(phc)
		return err
	})
	return v, err
}

func passwordMatches(c *call) (v value.Value, err error) {
	if c.args[0].IsNull() || c.args[1].IsNull() {
		return value.Null, nil
	}
	text, err := c.text(0, "the password that PASSWORD_MATCHES takes")
	if err != nil {
		return value.Null, err
	}
	phc, err := c.text(1, "the hash that PASSWORD_MATCHES takes")
	if err != nil {
		return value.Null, err
	}
	work, err := password.Work(text, phc)
	switch {
	case errors.Is(err, password.ErrTooLong):
		return value.Bool(false), nil // no hash is of such a password
	case err != nil:
		return value.Null, value.Errorf(value.BadArgument, "%s", err)
	}
	err = c.hashing(work, func() error {
		ok, err := password.Matches(text, phc)
		v = value.Bool(ok)
		return err
	})
	return v, err
}

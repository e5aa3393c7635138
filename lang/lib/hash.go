package lib

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"hash"

	"ql/lang/value"
)

var hashFunctions = []Builtin{
	{Name: "SHA256", Min: 1, Max: 1, Fn: needs(1, digest("SHA256", sha256.New)),
		Signature: "SHA256(text)", Summary: "The SHA-256 hash of a text or of bytes, as hexadecimal text. Not for passwords: PASSWORD_HASH is.",
		Example: `LEFT(SHA256("hello"), 8)`, Result: "2cf24dba"},
	{Name: "SHA512", Min: 1, Max: 1, Fn: needs(1, digest("SHA512", sha512.New)),
		Signature: "SHA512(text)", Summary: "The SHA-512 hash of a text or of bytes, as hexadecimal text.",
		Example: `LEFT(SHA512("hello"), 8)`, Result: "9b71d224"},
	{Name: "HMAC_SHA256", Min: 2, Max: 2, Fn: needs(2, hmacSHA256),
		Signature: "HMAC_SHA256(text, key)", Summary: "The signature of a text or of bytes under a secret key, by HMAC with SHA-256, as hexadecimal text.",
		Example: `LEFT(HMAC_SHA256("hello", "secret"), 8)`, Result: "88aab3ed"},
	{Name: "SAME", Min: 2, Max: 2, Fn: needs(2, same),
		Signature: "SAME(a, b)", Summary: "Whether two texts are equal, in a time that does not tell how much of them is: for signatures and tokens.",
		Example: `SAME("abc", "abc")`, Result: "true"},
	{Name: "PASSWORD_HASH", Min: 1, Max: 1, Host: true,
		Signature: "PASSWORD_HASH(password)", Summary: "A hash to store in place of a password, of up to 256 bytes; each call gives another one.",
		Example: `PASSWORD_HASH("correct horse battery")`},
	{Name: "PASSWORD_MATCHES", Min: 2, Max: 2, Host: true,
		Signature: "PASSWORD_MATCHES(password, hash)", Summary: "Whether the password is the one of which PASSWORD_HASH made the hash.",
		Example: `PASSWORD_MATCHES("correct horse battery", ?user.hash)`},
	{Name: "UUID", Min: 0, Max: 0, Host: true,
		Signature: "UUID()", Summary: "A new identifier that is used nowhere else, such as 9f0c1c9e-3f0b-4c57-8f4e-0d6a5b1f2a77.",
		Example: `UUID()`},
	{Name: "TOKEN", Min: 0, Max: 1, Host: true,
		Signature: "TOKEN([bytes])", Summary: "A secret that nobody can guess, of 32 random bytes or as many as given, as text for use in addresses.",
		Example: `TOKEN()`},
}

// digest makes a function that gives the hash of its argument.
func digest(name string, start func() hash.Hash) Func {
	return func(c *Call, args []value.Value) (value.Value, error) {
		in := read(c, name, args)
		in.content(0, "")
		if in.err != nil {
			return value.Null, in.err
		}
		h := start()
		c.write(h, args[0].Raw())
		return c.hex(h.Sum(nil)), nil
	}
}

func hmacSHA256(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "HMAC_SHA256", args)
	in.content(0, "the text")
	key := in.content(1, "the key")
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.Work(len(key) / 4) // hashed where it is longer than a block
	h := hmac.New(sha256.New, args[1].Raw())
	c.write(h, args[0].Raw())
	return c.hex(h.Sum(nil)), nil
}

// write feeds p to h, a part at a time.
func (c *Call) write(h hash.Hash, p []byte) {
	c.Meter.Work(100)
	c.chunks(len(p), part, 16, func(from, to int) { h.Write(p[from:to]) })
}

// hex returns p as hexadecimal text.
func (c *Call) hex(p []byte) value.Value {
	b := value.NewBuilder(c.Meter, value.KindText, hex.EncodedLen(len(p)))
	hex.Encode(b.Reserve(hex.EncodedLen(len(p))), p)
	return b.Value()
}

func same(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "SAME", args)
	a, b := in.content(0, "the first text"), in.content(1, "the second text")
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.Work(len(a)/8 + len(b)/8)
	return value.Bool(subtle.ConstantTimeCompare(args[0].Raw(), args[1].Raw()) == 1), nil
}

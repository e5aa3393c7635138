// Package redacted has the one type of texts that logs, messages and encodings do not
// show: passwords, keys, tokens. Where such a text is stored, and who may read it, is
// its users' business.
package redacted

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask is shown in the place of a redacted text.
const Mask = "[redacted]"

// Text is a password, key or token. However it is printed, logged or encoded, Mask is
// shown; Reveal returns it. It is no key of a map, which encoding/json writes by its kind
// alone, and no unexported field of what is printed, past whose methods package fmt reads.
type Text string

// Reveal returns the text, for whoever checks, sends or shows it.
func (t Text) Reveal() string { return string(t) }

// String returns the mask.
func (Text) String() string { return Mask }

// GoString returns the mask.
func (Text) GoString() string { return Mask }

// Format writes the mask for every verb.
func (Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Mask) }

// LogValue shows the mask in structured logs.
func (Text) LogValue() slog.Value { return slog.StringValue(Mask) }

// MarshalText writes the mask.
func (Text) MarshalText() ([]byte, error) { return []byte(Mask), nil }

// MarshalJSON writes the mask.
func (Text) MarshalJSON() ([]byte, error) { return []byte(`"` + Mask + `"`), nil }

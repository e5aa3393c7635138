// Package colour has what is to be known of a colour before somebody reads on it: how it is written,
// and its contrast with another one.
package colour

import (
	"encoding/hex"
	"errors"
	"math"
	"strings"
)

// Colour is a colour of screens: red, green and blue.
type Colour [3]uint8

// The grounds of pages, by day and by night: docs/decisions/0078 has the others.
var (
	White = Colour{0xff, 0xff, 0xff}
	Night = Colour{0x11, 0x14, 0x18}
)

// Readable is the contrast from which texts can be read (WCAG 2.2, criterion 1.4.3).
const Readable = 4.5

// Parse reads a colour as #1a56db.
func Parse(text string) (c Colour, err error) {
	digits, ok := strings.CutPrefix(text, "#")
	read, err := hex.DecodeString(digits)
	if !ok || err != nil || len(read) != len(c) {
		return c, errors.New("is no colour: six digits of 0 to f behind a # fit, such as #1a56db")
	}
	copy(c[:], read)
	return c, nil
}

// String writes the colour as Parse reads it.
func (c Colour) String() string { return "#" + hex.EncodeToString(c[:]) }

// luminance is how bright the colour is, from 0 to 1 (WCAG 2.2, relative luminance).
func (c Colour) luminance() float64 {
	channel := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(c[0]) + 0.7152*channel(c[1]) + 0.0722*channel(c[2])
}

// Contrast is the contrast of two colours, from 1 for the same to 21 for black and white.
func Contrast(a, b Colour) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// On returns the colour, with as much white in it as it needs to be read on a dark ground.
func (c Colour) On(ground Colour) Colour {
	const steps = 32
	for i := range steps {
		var mixed Colour
		for j, v := range c {
			mixed[j] = uint8((int(v)*(steps-i) + 255*i) / steps)
		}
		if Contrast(mixed, ground) >= Readable {
			return mixed
		}
	}
	return White
}

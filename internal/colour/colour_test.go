package colour

import (
	"math"
	"testing"
)

func TestParse(t *testing.T) {
	for _, text := range []string{"", "#", "1a56db", "#fff", "#1a56d", "#1a56dbx", "#1a56dbff", "#gggggg", "red", "#1a56db;", " #1a56db"} {
		if c, err := Parse(text); err == nil {
			t.Errorf("%q is %s", text, c)
		}
	}
	if c, err := Parse("#1A56db"); err != nil || c.String() != "#1a56db" {
		t.Errorf("%s, %v", c, err)
	}
}

// TestContrast: the values are those that the criterion's own tools give.
func TestContrast(t *testing.T) {
	for text, want := range map[string]float64{"#ffffff": 1, "#000000": 21, "#777777": 4.48, "#767676": 4.54, "#1a56db": 6.18, "#ffcc00": 1.51} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Contrast(c, White); math.Abs(got-want) > 0.01 || got != Contrast(White, c) {
			t.Errorf("%s: %.2f, want %.2f", text, got, want)
		}
	}
}

// TestOn: whatever is read by day can be read by night.
func TestOn(t *testing.T) {
	for r := 0; r < 256; r += 15 {
		for g := 0; g < 256; g += 15 {
			for b := 0; b < 256; b += 15 {
				c := Colour{uint8(r), uint8(g), uint8(b)}
				if light := c.On(Night); Contrast(light, Night) < Readable {
					t.Fatalf("%s: %s has a contrast of %.2f", c, light, Contrast(light, Night))
				} else if Contrast(c, Night) >= Readable && light != c {
					t.Fatalf("%s is changed to %s", c, light)
				}
			}
		}
	}
}

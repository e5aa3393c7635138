package wire

import (
	"strconv"
	"strings"
)

// mostLanguages bounds how many languages of a request are looked at.
const mostLanguages = 32

// ChooseLanguage returns the one of the offered languages that a request's Accept-Language prefers
// (RFC 9110, section 12.5.4); the first of them where it names none.
func ChooseLanguage(accept string, offered ...string) string {
	best, most := offered[0], 0.0
	n := 0
	for one := range strings.SplitSeq(accept, ",") {
		if n++; n > mostLanguages {
			break
		}
		tag, parameter, _ := strings.Cut(one, ";")
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q="); ok {
			weight, _ = strconv.ParseFloat(q, 64) // what is no number prefers nothing
		}
		primary, _, _ := strings.Cut(strings.TrimSpace(tag), "-")
		for _, language := range offered {
			if strings.EqualFold(primary, language) && weight > most && weight <= 1 {
				best, most = language, weight
			}
		}
	}
	return best
}

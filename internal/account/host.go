package account

import (
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/secure/bidirule"
)

var errHost = errors.New("a domain looks like shop.example.com")

const (
	maxHost   = 253
	maxLabel  = 63
	acePrefix = "xn--" // of a label written in Punycode
)

// parseHost brings a domain name to lower case and ASCII. Labels in other
// letters are written in Punycode, as IDNA has it; of what IDNA allows this
// takes the names without special cases: letters and their marks, with ASCII
// digits and hyphens. A label that is written in Punycode already is taken as
// it stands. A final dot, which stands for the root, must be cut off before.
func parseHost(text string) (string, error) {
	if text == "" || len(text) > 4*maxHost {
		return "", errHost
	}
	var b strings.Builder
	for label := range strings.SplitSeq(text, ".") {
		label, err := parseLabel(label)
		if err != nil {
			return "", err
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(label)
	}
	host := b.String()
	if len(host) > maxHost || isNumber(host[strings.LastIndexByte(host, '.')+1:]) {
		return "", errHost
	}
	return host, nil
}

// isNumber tells whether a last label would make browsers read the host as an
// IPv4 address.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return isDigits(label)
}

func parseLabel(text string) (string, error) {
	if len(text) > 4*maxLabel {
		return "", errHost
	}
	label, err := foldLetters(text)
	if err != nil || !isHyphenated(label) {
		return "", errHost
	}
	if !isASCII(label) {
		if strings.HasPrefix(label, acePrefix) || !bidirule.ValidString(label) {
			return "", errHost
		}
		label = acePrefix + encodePunycode(label)
	}
	if len(label) > maxLabel {
		return "", errHost
	}
	return label, nil
}

// isHyphenated checks the ASCII of a label: letters, digits, and hyphens inside
// it.
func isHyphenated(label string) bool {
	for i := range len(label) {
		c := label[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c >= utf8.RuneSelf) {
			return false
		}
	}
	return label != "" && label[0] != '-' && label[len(label)-1] != '-'
}

// The parameters of Punycode, RFC 3492 section 5.
const (
	pcBase        = 36
	pcTMin        = 1
	pcTMax        = 26
	pcSkew        = 38
	pcDamp        = 700
	pcInitialBias = 72
	pcInitialN    = 128
)

const pcDigits = "abcdefghijklmnopqrstuvwxyz0123456789"

// encodePunycode writes a label without its prefix, RFC 3492 section 6.3.
func encodePunycode(label string) string {
	var out []byte
	runes := []rune(label)
	for _, r := range runes {
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
		}
	}
	basic := len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	n, delta, bias := rune(pcInitialN), 0, pcInitialBias
	for done := basic; done < len(runes); {
		next := rune(math.MaxInt32)
		for _, r := range runes {
			if r >= n && r < next {
				next = r
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range runes {
			if r < n {
				delta++
			}
			if r != n {
				continue
			}
			q := delta
			for k := pcBase; ; k += pcBase {
				t := threshold(k, bias)
				if q < t {
					break
				}
				out = append(out, pcDigits[t+(q-t)%(pcBase-t)])
				q = (q - t) / (pcBase - t)
			}
			out = append(out, pcDigits[q])
			bias = adapt(delta, done+1, done == basic)
			delta = 0
			done++
		}
		delta++
		n++
	}
	return string(out)
}

func threshold(k, bias int) int { return min(max(k-bias, pcTMin), pcTMax) }

// adapt is RFC 3492 section 6.1.
func adapt(delta, count int, first bool) int {
	if first {
		delta /= pcDamp
	} else {
		delta /= 2
	}
	delta += delta / count
	k := 0
	for delta > (pcBase-pcTMin)*pcTMax/2 {
		delta /= pcBase - pcTMin
		k += pcBase
	}
	return k + (pcBase-pcTMin+1)*delta/(delta+pcSkew)
}

package filestest

import (
	"fmt"
	"strings"
	"unicode"
)

// Path is a path with what becomes of it.
type Path struct {
	Text      string
	Canonical string // "" for one that is refused
	Rule      string // a part of the message of one that is refused
}

// same marks a path that is its own canonical form.
const same = "="

// Paths returns paths good and hostile, the same for every kind of files and
// every way to them.
func Paths() []Path {
	all := append(written(), families()...)
	for i := range all {
		if all[i].Canonical == same {
			all[i].Canonical = all[i].Text
		}
	}
	return all
}

// written are the paths that are hostile each in its own way, and those that
// only look it.
func written() []Path {
	long := strings.Repeat("x", 255)
	return []Path{
		// plain
		{"/a", same, ""},
		{"/a.txt", same, ""},
		{"/a/b/c.json", same, ""},
		{"/reports/2026/june.pdf", same, ""},
		{"/.hidden", same, ""},
		{"/..a", same, ""},
		{"/...a", same, ""},
		{"/a..b", same, ""},
		{"/a.b.c", same, ""},
		{"/a b", same, ""},
		{"/a  b", same, ""},
		{"/-a", same, ""},
		{"/~a", same, ""},
		{"/a~", same, ""},
		{"/~", same, ""},
		{"/$HOME", same, ""},
		{"/%2e%2e", same, ""},
		{"/%2f", same, ""},
		{"/%00", same, ""},
		{"/a'b", same, ""},
		{"/a;b&c", same, ""},
		{"/a`b`", same, ""},
		{"/(a)[b]{c}", same, ""},
		{"/a+b=c,d!e@f#g^h", same, ""},
		{"/README", same, ""},
		{"/A", same, ""},
		{"/0", same, ""},
		// letters of the world
		{"/größe.txt", same, ""},
		{"/gro\u0308\u00dfe.txt", "/gr\u00f6\u00dfe.txt", ""},
		{"/e\u0301", "/\u00e9", ""},
		{"/\u212b", "/\u00c5", ""}, // the sign for ångström
		{"/\u2126", "/\u03a9", ""}, // the sign for ohm
		{"/\u1100\u1161", "/\uac00", ""},
		{"/日本語/ファイル.txt", same, ""},
		{"/файл", same, ""},
		{"/ملف", same, ""},
		{"/קובץ", same, ""},
		{"/\u095e\u093e\u0907\u0932", "/\u092b\u093c\u093e\u0907\u0932", ""},
		{"/👋.png", same, ""},
		{"/🇩🇪", same, ""},
		{"/a\u00a0b", same, ""},
		{"/a\u3000b", same, ""},
		{"/❤\ufe0f.png", same, ""}, // a selector of the sign's colours
		{"/\u8fba\U000e0100", same, ""},
		{"/\u2800a", same, ""},
		{"/ﬁ", same, ""},
		{"/①", same, ""},
		{"/\ue000", same, ""}, // for private use, assigned by whoever uses it
		// names that only look like devices
		{"/CONSOLE", same, ""},
		{"/con1", same, ""},
		{"/COM0", same, ""},
		{"/COM10", same, ""},
		{"/COM", same, ""},
		{"/LPT", same, ""},
		{"/lpt10.txt", same, ""},
		{"/nul1", same, ""},
		{"/aux2.c", same, ""},
		{"/a.con", same, ""},
		{"/xCON", same, ""},
		{"/CONIN", same, ""},
		{"/CONOUT$1", same, ""},
		{"/CLOCK", same, ""},
		{"/$CLOCK", same, ""},
		// the longest
		{"/" + long, same, ""},
		{"/" + strings.Repeat("ä", 127), same, ""},
		{"/" + long + "/" + long + "/" + long + "/" + long, same, ""},
		{strings.Repeat("/a", 32), same, ""},

		// sizes
		{"/" + long + "x", "", "longer than 255 bytes"},
		{"/" + strings.Repeat("ä", 128), "", "longer than 255 bytes"},
		{"/a/" + long + "x/b", "", "longer than 255 bytes"},
		{"/" + long + "/" + long + "/" + long + "/" + long + "/a", "", "longer than 1024 bytes"},
		{strings.Repeat("/a", 33), "", "more than 32 parts"},
		// not from the top
		{"", "", "start with /"},
		{"a", "", "start with /"},
		{"a/b", "", "start with /"},
		{"./a", "", "start with /"},
		{"../a", "", "start with /"},
		{"~/a", "", "start with /"},
		{"C:/a", "", "start with /"},
		{" /a", "", "start with /"},
		{`\a`, "", "start with /"},
		{"file:///a", "", "start with /"},
		{"\u2215a", "", "start with /"},
		// empty parts
		{"/", "", "the folder of all files"},
		{"//", "", "empty part"},
		{"//a", "", "empty part"},
		{"/a/", "", "empty part"},
		{"/a//b", "", "empty part"},
		{"///a", "", "empty part"},
		{"//server/share", "", "empty part"},
		// dots
		{"/.", "", `"." is no name`},
		{"/..", "", `".." is no name`},
		{"/a/..", "", `".." is no name`},
		{"/a/../b", "", `".." is no name`},
		{"/../../etc/passwd", "", `".." is no name`},
		{"/a/./b", "", `"." is no name`},
		{"/./a", "", `"." is no name`},
		{"/a/.", "", `"." is no name`},
		{"/...", "", "ends with a dot"},
		{"/....", "", "ends with a dot"},
		{"/a.", "", "ends with a dot"},
		{"/a../b", "", "ends with a dot"},
		{"/.. /a", "", "starts or ends with a space"},
		{"/ ../a", "", "starts or ends with a space"},
		{"/..\u200b/a", "", "invisible character U+200B"},
		{"/.\u00ad./a", "", "invisible character U+00AD"},
		// control characters
		{"/a\x00", "", "control character U+0000"},
		{"/a\x00.txt", "", "control character U+0000"},
		{"/\x01", "", "control character U+0001"},
		{"/a\tb", "", "control character U+0009"},
		{"/a\nb", "", "control character U+000A"},
		{"/a\rb", "", "control character U+000D"},
		{"/a\x1bb", "", "control character U+001B"},
		{"/a\x7f", "", "control character U+007F"},
		{"/a\u0080", "", "control character U+0080"},
		{"/a\u0085b", "", "control character U+0085"},
		{"/a\u009f", "", "control character U+009F"},
		// signs
		{`/a\b`, "", `the character \`},
		{`/..\..\etc`, "", `the character \`},
		{`/a\..\b`, "", `the character \`},
		{"/a:b", "", "the character :"},
		{"/a.txt::$DATA", "", "the character :"},
		{"/C:", "", "the character :"},
		{"/a*", "", "the character *"},
		{"/a?b", "", "the character ?"},
		{`/"a"`, "", `the character "`},
		{"/a<b", "", "the character <"},
		{"/a>b", "", "the character >"},
		{"/a|b", "", "the character |"},
		// spaces
		{"/ ", "", "starts or ends with a space"},
		{"/ a", "", "starts or ends with a space"},
		{"/a ", "", "starts or ends with a space"},
		{"/a /b", "", "starts or ends with a space"},
		{"/a\u00a0", "", "starts or ends with a space"},
		{"/\u3000a", "", "starts or ends with a space"},
		{"/a\u2028", "", "starts or ends with a space"},
		// what cannot be seen
		{"/a\u200db", "", "invisible character U+200D"},
		{"/a\u200e", "", "invisible character U+200E"},
		{"/a\u202egpj.exe", "", "invisible character U+202E"},
		{"/a\u2066b\u2069", "", "invisible character U+2066"},
		{"/\ufeffa", "", "invisible character U+FEFF"},
		{"/a\u061cb", "", "invisible character U+061C"},
		{"/a\U000e0041", "", "invisible character U+E0041"},
		{"/a\u034fb", "", "invisible character U+034F"},
		{"/\u3164", "", "invisible character U+3164"},
		{"/a\u3164", "", "invisible character U+3164"},
		{"/\u115f", "", "invisible character U+115F"},
		{"/a\u1160b", "", "invisible character U+1160"},
		{"/a\u17b4", "", "invisible character U+17B4"},
		{"/a\u17b5", "", "invisible character U+17B5"},
		{"/\uffa0a", "", "invisible character U+FFA0"},
		{"/\ufe0f", "", "nothing that can be seen"},
		{"/\ufe0e \ufe0f/a", "", "nothing that can be seen"},
		{"/a/\u180b", "", "nothing that can be seen"},
		{"/\U000e0100", "", "nothing that can be seen"},
		{"/\u2800\u2800", "", "nothing that can be seen"},
		// what is no character
		{"/a\u0378", "", "U+0378, which is no character"},
		{"/a\ufffe", "", "U+FFFE, which is no character"},
		{"/a\ufdd0", "", "U+FDD0, which is no character"},
		{"/a\U0010ffff", "", "U+10FFFF, which is no character"},
		{"/a\xff", "", "not valid UTF-8"},
		{"/\xc0\xaf", "", "not valid UTF-8"},
		{"/\xc0\xae\xc0\xae/a", "", "not valid UTF-8"},
		{"/a\xed\xa0\x80", "", "not valid UTF-8"},
		{"/a\xc3", "", "not valid UTF-8"},
		// devices
		{"/CON", "", "a device"},
		{"/con", "", "a device"},
		{"/Con.txt", "", "a device"},
		{"/con.tar.gz", "", "a device"},
		{"/a/NUL/b", "", "a device"},
		{"/nul.", "", "ends with a dot"},
		{"/PRN", "", "a device"},
		{"/AUX.h", "", "a device"},
		{"/COM1", "", "a device"},
		{"/com9.log", "", "a device"},
		{"/COM\u00b9", "", "a device"},
		{"/LPT1", "", "a device"},
		{"/lpt9", "", "a device"},
		{"/LPT\u00b3.txt", "", "a device"},
		{"/con .txt", "", "a device"},
	}
}

// families are paths of which there are many alike.
func families() (all []Path) {
	hostile := func(rule, format string, args ...any) {
		all = append(all, Path{fmt.Sprintf(format, args...), "", rule})
	}
	for r := rune(0); r < 0xa0; r++ {
		if unicode.IsControl(r) {
			hostile(fmt.Sprintf("control character U+%04X", r), "/control/%cx", r)
		}
	}
	for _, part := range unicode.Cf.R16 {
		for r := rune(part.Lo); r <= rune(part.Hi); r += rune(part.Stride) {
			hostile(fmt.Sprintf("invisible character U+%04X", r), "/in%cvisible", r)
		}
	}
	for _, device := range []string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"} {
		hostile("a device", "/%s", device)
		hostile("a device", "/%s.txt", strings.ToLower(device))
		hostile("a device", "/x/%s.tar.gz/y", device)
	}
	for _, port := range []string{"COM", "LPT"} {
		for number := 1; number <= 9; number++ {
			hostile("a device", "/%s%d", port, number)
			hostile("a device", "/%s%d.log", strings.ToLower(port), number)
			hostile("a device", "/dir/%s%d .x", port, number)
		}
	}
	for _, sign := range `\:*?"<>|` {
		hostile(fmt.Sprintf("the character %c", sign), "/%c", sign)
		hostile(fmt.Sprintf("the character %c", sign), "/a/%cb", sign)
		hostile(fmt.Sprintf("the character %c", sign), "/a/b%c/c", sign)
	}
	for _, space := range []rune{' ', 0xa0, 0x1680, 0x2000, 0x2003, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000} {
		hostile("starts or ends with a space", "/%cstart", space)
		hostile("starts or ends with a space", "/end%c", space)
		hostile("starts or ends with a space", "/a/%c/b", space)
	}
	for _, way := range []string{"..", "../..", "../../../..", "a/../..", "a/b/../../..", ".", "a/.", "./..", "a/./b/.."} {
		hostile("is no name", "/%s", way)
		hostile("is no name", "/%s/etc/passwd", way)
		hostile("is no name", "/files/%s/master.key", way)
		hostile("start with /", "%s/x", way)
	}
	for _, start := range []string{"", "c:", "file:", "~", "$HOME", "%2f", "\\\\host\\share", "\u2044", "\uff0f", "ql:", "http://host", "."} {
		hostile("start with /", "%sx", start)
	}
	for _, ending := range []string{"x.", "x...", "\u2024.", "x.txt.", "....."} {
		hostile("ends with a dot", "/%s", ending)
		hostile("ends with a dot", "/%s/x", ending)
	}
	for _, bytes := range []string{"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xf5\x80\x80\x80", "\xfe", "\xff", "\xed\xbf\xbf", "\xf8\x88\x80\x80\x80"} {
		hostile("not valid UTF-8", "/%s", bytes)
		hostile("not valid UTF-8", "/..%s/x", bytes)
	}
	for _, r := range []rune{0x0378, 0x05ff, 0x0860 + 0x0b, 0xfdd0, 0xfdef, 0xfffe, 0xffff, 0x1fffe, 0x1ffff, 0x2fffe, 0x10fffe, 0x10ffff, 0xe0080, 0x3ffff} {
		hostile("which is no character", "/none%c", r)
		hostile("which is no character", "/%c/none", r)
	}
	for parts := 33; parts < 40; parts++ {
		hostile("more than 32 parts", "%s", strings.Repeat("/a", parts))
		hostile("longer than 255 bytes", "/%s", strings.Repeat("n", 223+parts))
	}
	return all
}

package formpage

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// problem says in another language what package form says of an answer that does not fit: $1 and $2
// stand for what the pattern finds. A test reads the sentences of that package, and finds each here.
type problem struct {
	pattern *regexp.Regexp
	text    string
}

func problemOf(pattern, text string) problem {
	return problem{regexp.MustCompile(`\A` + pattern + `\z`), text}
}

// wrong says what is wrong with an answer, as a sentence.
func (w *words) wrong(message string) string {
	for _, p := range w.problems {
		if m := p.pattern.FindStringSubmatchIndex(message); m != nil {
			return sentence(string(p.pattern.ExpandString(nil, p.text, message, m)))
		}
	}
	return sentence(message)
}

// sentence makes a sentence of a message.
func sentence(message string) string {
	first, n := utf8.DecodeRuneInString(message)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(message[n:], ".") + "."
}

var germanProblems = []problem{
	problemOf(`must be answered`, "Muss beantwortet werden"),
	problemOf(`must be a text`, "Muss ein Text sein"),
	problemOf(`must be a single line`, "Muss in einer Zeile stehen"),
	problemOf(`must not have control characters in it`, "Darf keine Steuerzeichen enthalten"),
	problemOf(`is too long for its pattern`, "Ist zu lang, um es zu prüfen"),
	problemOf(`does not have the form that is asked for`, "Hat nicht die Form, die verlangt ist"),
	problemOf(`must have at least (\d+) characters?`, "Muss mindestens $1 Zeichen haben"),
	problemOf(`must have at most (\d+) characters?`, "Darf höchstens $1 Zeichen haben"),
	problemOf(`must have exactly (\d+) characters?`, "Muss genau $1 Zeichen haben"),
	problemOf(`must have (\d+) to (\d+) characters`, "Muss $1 bis $2 Zeichen haben"),
	problemOf(`must be a number from (\S+) to (\S+)`, "Muss eine Zahl von $1 bis $2 sein"),
	problemOf(`must be a number from (\S+) on`, "Muss eine Zahl ab $1 sein"),
	problemOf(`must be a number up to (\S+)`, "Muss eine Zahl bis $1 sein"),
	problemOf(`must be a number`, "Muss eine Zahl sein"),
	problemOf(`must be a whole number from (\S+) to (\S+)`, "Muss eine ganze Zahl von $1 bis $2 sein"),
	problemOf(`must be a whole number from (\S+) on`, "Muss eine ganze Zahl ab $1 sein"),
	problemOf(`must be a whole number up to (\S+)`, "Muss eine ganze Zahl bis $1 sein"),
	problemOf(`must be a whole number`, "Muss eine ganze Zahl sein"),
	problemOf(`must be a decimal number from (\S+) to (\S+)`, "Muss eine Dezimalzahl von $1 bis $2 sein"),
	problemOf(`must be a decimal number from (\S+) on`, "Muss eine Dezimalzahl ab $1 sein"),
	problemOf(`must be a decimal number up to (\S+)`, "Muss eine Dezimalzahl bis $1 sein"),
	problemOf(`must be a decimal number`, "Muss eine Dezimalzahl sein"),
	problemOf(`must have at most (\d+) digits`, "Darf höchstens $1 Ziffern haben"),
	problemOf(`must be a date such as (\S+)`, "Muss ein Datum wie $1 sein"),
	problemOf(`must be a date from (\S+) to (\S+)`, "Muss ein Datum vom $1 bis zum $2 sein"),
	problemOf(`must be a date from (\S+) on`, "Muss ein Datum ab dem $1 sein"),
	problemOf(`must be a date up to (\S+)`, "Muss ein Datum bis zum $1 sein"),
	problemOf(`must be a time such as (\S+)`, "Muss eine Uhrzeit wie $1 sein"),
	problemOf(`must be a time from (\S+) to (\S+)`, "Muss eine Uhrzeit von $1 bis $2 sein"),
	problemOf(`must be a time from (\S+) on`, "Muss eine Uhrzeit ab $1 sein"),
	problemOf(`must be a time up to (\S+)`, "Muss eine Uhrzeit bis $1 sein"),
	problemOf(`must be yes or no \(true or false\)`, "Muss Ja oder Nein sein"),
	problemOf(`must be an e-mail address such as (\S+)`, "Muss eine E-Mail-Adresse wie $1 sein"),
	problemOf(`must be an address such as (\S+)`, "Muss eine Adresse wie $1 sein"),
	problemOf(`must be a phone number such as (.+)`, "Muss eine Telefonnummer wie $1 sein"),
	problemOf(`must be at least 1 choice`, "Mindestens 1 muss gewählt sein"),
	problemOf(`must be at least (\d+) choices`, "Mindestens $1 müssen gewählt sein"),
	problemOf(`must be at most 1 choice`, "Höchstens 1 darf gewählt sein"),
	problemOf(`must be at most (\d+) choices`, "Höchstens $1 dürfen gewählt sein"),
	problemOf(`must be exactly 1 choice`, "Genau 1 muss gewählt sein"),
	problemOf(`must be exactly (\d+) choices`, "Genau $1 müssen gewählt sein"),
	problemOf(`must be (\d+) to (\d+) choices`, "$1 bis $2 müssen gewählt sein"),
	problemOf(`must be a file of at most (\d+) bytes?`, "Muss eine Datei von höchstens $1 Bytes sein"),
	problemOf(`must be a file of exactly (\d+) bytes?`, "Muss eine Datei von genau $1 Bytes sein"),
	problemOf(`must be a file of (\d+) to (\d+) bytes`, "Muss eine Datei von $1 bis $2 Bytes sein"),
	problemOf(`must be a file: .*`, "Muss eine Datei sein"),
	problemOf(`must be a file whose .*`, "Muss eine Datei sein"),
	problemOf(`cannot be a file here`, "Kann hier keine Datei sein"),
	problemOf(`must be a list of (?s:.*)`, "Muss aus dem gewählt sein, was zur Wahl steht"),
	problemOf(`is no field of this form`, "Ist kein Feld dieses Formulars"),
	problemOf(`must be "(?s:.*)`, "Muss eines von dem sein, was zur Wahl steht"),
}

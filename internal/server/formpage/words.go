package formpage

import (
	"strconv"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/wire"
)

// words are the texts of the page in one language. In braces stands what is put in: {at} a moment,
// {n} and {most} numbers, {account} and {by} names.
type words struct {
	Language string
	months   [12]string
	moment   string // {day}, {month}, {year} and {time}
	thousand string // between groups of three digits

	TheAccount, Asks string // before and after the name of the account
	question         string
	correct          string // before the title of a page that is shown again
	notYet           string // said of answers of which some are wrong
	refused          string // said of an answer that was not taken for another reason
	Starred          string
	PleaseChoose     string
	NoAnswer         string
	yes, no          string
	Send             string
	Approve, Decline string
	Note             string
	before           string
	atMost           string
	bytes            string // the unit
	point            string // before the decimals of a number
	atMostSize       string
	tooLarge         string
	Count            string
	chooseAgain      string
	typeAgain        string
	hidden           string // said of a note with characters that control how others are shown
	YourReceipt      string
	TryAgain         string
	LookAgain        string

	// Said by the page's script:
	Sending, Uploading, Lost string

	notAsked, answered, expired, withdrawn, accepted, approved, declined ending
	nothing, failed                                                      ending
	notTaken                                                             string // said of what was sent too late
	mayClose                                                             string // said of a question that is over

	// Said while the job of an answer is at work: the title, that the page goes on by itself, and when
	// it does where that takes long.
	working, goesOn, resumes string
	begunAnew                string // said of a form inside a page that begins anew

	// What may follow an answer: {by} are statements of SQL. Of changes there is one line for each database.
	Follows                                                   string
	changes, writes, removes, calls, commands, mails, scripts effectWords
	shares, sessions, asks, partial                           string
	changesNothing                                            string

	answerers map[principal.Credential]string
	someone   string
	faults    map[fault.Code]string // what is wrong, where the service says it in English
	problems  []problem             // what is wrong with an answer, likewise
}

// ending is the title and the words of a page without a form.
type ending struct{ title, words string }

// languages are those that the page is written in, the first for everybody who reads none of them.
var languages = []*words{&english, &german}

// wordsFor returns the words of a page by the languages that its reader prefers.
func wordsFor(accepted string) *words {
	chosen := wire.ChooseLanguage(accepted, "en", "de")
	for _, w := range languages {
		if w.Language == chosen {
			return w
		}
	}
	return languages[0]
}

// said is a sentence in which a moment may stand.
type said struct {
	Before, After string
	At            *moment
}

// moment is a moment as the page writes it, and as programs read it.
type moment struct{ Text, Exact string }

// say puts a moment, and other texts by their names, into a sentence.
func (w *words) say(text string, at time.Time, pairs ...string) said {
	fill := strings.NewReplacer(pairs...)
	before, after, has := strings.Cut(text, "{at}")
	s := said{Before: fill.Replace(before), After: fill.Replace(after)}
	if has {
		s.At = &moment{w.writeTime(at), at.UTC().Format(time.RFC3339)}
	}
	return s
}

func (w *words) writeTime(t time.Time) string {
	t = t.UTC()
	return strings.NewReplacer("{day}", strconv.Itoa(t.Day()), "{month}", w.months[t.Month()-1], "{year}", strconv.Itoa(t.Year()),
		"{time}", t.Format("15:04")).Replace(w.moment)
}

// AtMost says how long an answer may be.
func (w *words) AtMost(n int) string { return strings.ReplaceAll(w.atMost, "{most}", w.number(n)) }

// AtMostBytes says how large a file may be, and TooLarge that one is larger.
func (w *words) AtMostBytes(n int) string {
	return strings.ReplaceAll(w.atMostSize, "{most}", w.size(n))
}

// TooLarge is said of a larger file.
func (w *words) TooLarge(n int) string {
	return strings.ReplaceAll(w.tooLarge, "{most}", w.size(n))
}

// size writes a number of bytes, rounded down to a tenth of the largest unit that it has.
func (w *words) size(n int) string {
	unit, units := "", []string{"KiB", "MiB", "GiB", "TiB"}
	tenths := 10 * n
	for ; n >= 1<<10 && len(units) > 0; n, units = n>>10, units[1:] {
		unit, tenths = units[0], 10*n>>10
	}
	switch {
	case unit == "":
		return w.number(n) + " " + w.bytes
	case tenths%10 == 0:
		return w.number(tenths/10) + " " + unit
	}
	return w.number(tenths/10) + w.point + strconv.Itoa(tenths%10) + " " + unit
}

// number writes a number that is not negative.
func (w *words) number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + w.thousand + digits[i:]
	}
	return digits
}

// answerer says who answered a question.
func (w *words) answerer(by principal.Credential) string {
	if name, ok := w.answerers[by]; ok {
		return name
	}
	return w.someone
}

var english = words{
	Language: "en",
	months:   [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
	moment:   "{day} {month} {year}, {time} UTC",
	thousand: ",",

	TheAccount: "The account", Asks: "asks",
	question:     "A question from {account}",
	correct:      "Please correct: ",
	notYet:       "Your answers were not taken yet. Please look at those that are marked.",
	refused:      "Your answer was not taken: ",
	Starred:      "What has a * must be answered.",
	PleaseChoose: "Please choose",
	NoAnswer:     "No answer",
	yes:          "Yes", no: "No",
	Send:    "Send",
	Approve: "Approve", Decline: "Decline",
	Note:        "A note, if you like",
	before:      "Please answer before {at}.",
	atMost:      "At most {most} characters",
	bytes:       "bytes",
	point:       ".",
	atMostSize:  "At most {most}",
	tooLarge:    "This file is too large: {most} fit.",
	Count:       "{n} of {most} characters",
	chooseAgain: "Please choose the file again.",
	typeAgain:   "Please type it again.",
	hidden:      "There are characters in it that cannot be seen. Please remove them: what you type yourself has none.",
	YourReceipt: "Your receipt is",
	TryAgain:    "Try again",
	LookAgain:   "Look again now",

	Sending:   "Sending…",
	Uploading: "Uploading: {n} %",
	Lost:      "This did not arrive. All that you filled in is still here: please send it again.",

	notAsked:  ending{"Not asked yet", "This question has not been asked yet. Please open this page again later."},
	answered:  ending{"Already answered", "This question was answered on {at} by {by}."},
	expired:   ending{"The time to answer is over", "This question could be answered until {at}. Nobody did, and it is asked no longer."},
	withdrawn: ending{"No longer asked", "This question was withdrawn on {at}: what asked it has ended without an answer."},
	accepted:  ending{"Thank you", "Your answer has arrived on {at}."},
	approved:  ending{"Thank you", "Your answer has arrived: you approved on {at}."},
	declined:  ending{"Thank you", "Your answer has arrived: you declined on {at}."},
	nothing:   ending{"Nothing to answer", "There is no such question: the link is not complete, or what it belonged to is no longer kept."},
	failed:    ending{"This did not work", ""},
	notTaken:  "What you sent now was not taken.",
	mayClose:  "You may close this page.",
	working:   "Working…",
	goesOn:    "If there is more to ask, this page goes on to it by itself.",
	resumes:   "More may be asked after {at}: this page then leads there.",
	begunAnew: "This page was changed, or it is too long ago that you opened it. Please look at your answers, and send them again.",

	Follows:        "What may follow your answer",
	changes:        effectWords{known: "changes the database {names} ({by})", any: "changes a database that the script chooses ({by})"},
	writes:         effectWords{"writes files: {names}", "writes files that the script names", "writes files: {names}, and others that the script names"},
	removes:        effectWords{"removes files: {names}", "removes files that the script names", "removes files: {names}, and others that the script names"},
	calls:          effectWords{"calls {names} (FETCH)", "calls a server that the script chooses (FETCH)", "calls {names}, and a server that the script chooses (FETCH)"},
	commands:       effectWords{"works on machines: {names} (RUN, COPY)", "works on a machine that the script chooses (RUN, COPY)", "works on machines: {names}, and one that the script chooses (RUN, COPY)"},
	mails:          effectWords{"sends mail to {names} (MAIL)", "sends mail to whom the script chooses (MAIL)", "sends mail to {names}, and to whom the script chooses (MAIL)"},
	scripts:        effectWords{"runs scripts: {names}", "runs a script that it chooses", "runs scripts: {names}, and one that it chooses"},
	shares:         "makes links to files, or takes them back",
	sessions:       "changes what is kept about a visitor",
	asks:           "asks somebody",
	partial:        "does more, which is not listed here",
	changesNothing: "Nothing is changed after this, and no server is called.",

	answerers: map[principal.Credential]string{
		principal.ByKey: "the owner of the account", principal.ByPassword: "the owner of the account", principal.ByToken: "the owner of the account",
		principal.ByNamedKey: "a key of the account", principal.ByOrigin: "a page",
	},
	someone: "somebody who had its link or its job's id",
}

var german = words{
	Language: "de",
	months:   [12]string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"},
	moment:   "{day}. {month} {year}, {time} UTC",
	thousand: ".",

	TheAccount: "Das Konto", Asks: "fragt",
	question:     "Eine Frage von {account}",
	correct:      "Bitte berichtigen: ",
	notYet:       "Ihre Antworten wurden noch nicht angenommen. Bitte sehen Sie sich an, was markiert ist.",
	refused:      "Ihre Antwort wurde nicht angenommen: ",
	Starred:      "Was ein * hat, muss beantwortet werden.",
	PleaseChoose: "Bitte wählen",
	NoAnswer:     "Keine Angabe",
	yes:          "Ja", no: "Nein",
	Send:    "Senden",
	Approve: "Zustimmen", Decline: "Ablehnen",
	Note:        "Eine Bemerkung, wenn Sie möchten",
	before:      "Bitte antworten Sie vor dem {at}.",
	atMost:      "Höchstens {most} Zeichen",
	bytes:       "Bytes",
	point:       ",",
	atMostSize:  "Höchstens {most}",
	tooLarge:    "Diese Datei ist zu groß: {most} sind möglich.",
	Count:       "{n} von {most} Zeichen",
	chooseAgain: "Bitte wählen Sie die Datei noch einmal aus.",
	typeAgain:   "Bitte geben Sie es noch einmal ein.",
	hidden:      "Darin sind Zeichen, die man nicht sieht. Bitte entfernen Sie sie: Was Sie selbst tippen, hat keine.",
	YourReceipt: "Ihre Quittung hat die Nummer",
	TryAgain:    "Noch einmal versuchen",
	LookAgain:   "Jetzt nachsehen",

	Sending:   "Wird gesendet …",
	Uploading: "Wird hochgeladen: {n} %",
	Lost:      "Das ist nicht angekommen. Alles, was Sie ausgefüllt haben, ist noch da: Bitte senden Sie es noch einmal.",

	notAsked:  ending{"Noch nicht gestellt", "Diese Frage wurde noch nicht gestellt. Bitte öffnen Sie diese Seite später noch einmal."},
	answered:  ending{"Bereits beantwortet", "Diese Frage wurde am {at} beantwortet: {by}."},
	expired:   ending{"Die Zeit zum Antworten ist vorbei", "Diese Frage konnte bis zum {at} beantwortet werden. Niemand hat das getan, und sie wird nicht mehr gestellt."},
	withdrawn: ending{"Nicht mehr gestellt", "Diese Frage wurde am {at} zurückgezogen: Was sie gestellt hat, ist ohne eine Antwort zu Ende gegangen."},
	accepted:  ending{"Vielen Dank", "Ihre Antwort ist am {at} angekommen."},
	approved:  ending{"Vielen Dank", "Ihre Antwort ist angekommen: Sie haben am {at} zugestimmt."},
	declined:  ending{"Vielen Dank", "Ihre Antwort ist angekommen: Sie haben am {at} abgelehnt."},
	nothing:   ending{"Hier ist nichts zu beantworten", "Diese Frage gibt es nicht: Der Link ist unvollständig, oder das, wozu er gehörte, wird nicht mehr aufbewahrt."},
	failed:    ending{"Das hat nicht geklappt", "Der Dienst konnte das nicht tun. Bitte versuchen Sie es später noch einmal."},
	notTaken:  "Was Sie jetzt gesendet haben, wurde nicht angenommen.",
	mayClose:  "Sie können diese Seite schließen.",
	working:   "In Arbeit …",
	goesOn:    "Wenn es noch etwas zu fragen gibt, geht diese Seite von selbst dorthin weiter.",
	resumes:   "Nach dem {at} kann noch etwas gefragt werden: Diese Seite führt dann dorthin.",
	begunAnew: "Diese Seite wurde geändert, oder es ist zu lange her, dass Sie sie geöffnet haben. Bitte sehen Sie Ihre Antworten an und senden Sie sie noch einmal.",

	Follows:        "Was auf Ihre Antwort folgen kann",
	changes:        effectWords{known: "ändert die Datenbank {names} ({by})", any: "ändert eine Datenbank, die das Skript auswählt ({by})"},
	writes:         effectWords{"schreibt Dateien: {names}", "schreibt Dateien, die das Skript benennt", "schreibt Dateien: {names}, und andere, die das Skript benennt"},
	removes:        effectWords{"entfernt Dateien: {names}", "entfernt Dateien, die das Skript benennt", "entfernt Dateien: {names}, und andere, die das Skript benennt"},
	calls:          effectWords{"ruft {names} auf (FETCH)", "ruft einen Server auf, den das Skript auswählt (FETCH)", "ruft {names} auf, und einen Server, den das Skript auswählt (FETCH)"},
	commands:       effectWords{"arbeitet auf Rechnern: {names} (RUN, COPY)", "arbeitet auf einem Rechner, den das Skript auswählt (RUN, COPY)", "arbeitet auf Rechnern: {names}, und einem, den das Skript auswählt (RUN, COPY)"},
	mails:          effectWords{"sendet E-Mail an {names} (MAIL)", "sendet E-Mail an jemanden, den das Skript auswählt (MAIL)", "sendet E-Mail an {names}, und an jemanden, den das Skript auswählt (MAIL)"},
	scripts:        effectWords{"startet Skripte: {names}", "startet ein Skript, das es auswählt", "startet Skripte: {names}, und eines, das es auswählt"},
	shares:         "erstellt Links zu Dateien oder nimmt sie zurück",
	sessions:       "ändert, was über einen Besucher aufbewahrt wird",
	asks:           "fragt jemanden",
	partial:        "tut noch mehr, was hier nicht aufgeführt ist",
	changesNothing: "Danach wird nichts geändert und kein Server aufgerufen.",

	answerers: map[principal.Credential]string{
		principal.ByKey: "von der Inhaberin oder dem Inhaber des Kontos", principal.ByPassword: "von der Inhaberin oder dem Inhaber des Kontos",
		principal.ByToken: "von der Inhaberin oder dem Inhaber des Kontos", principal.ByNamedKey: "mit einem Schlüssel des Kontos", principal.ByOrigin: "von einer Seite aus",
	},
	someone: "von jemandem, der ihren Link oder die Kennung ihres Jobs hatte",
	faults: map[fault.Code]string{
		fault.InvalidRequest:       "Was gesendet wurde, passt nicht zu dieser Frage.",
		fault.MethodNotAllowed:     "Was gesendet wurde, passt nicht zu dieser Frage.",
		fault.UnsupportedMediaType: "Was gesendet wurde, passt nicht zu dieser Frage.",
		fault.TooLarge:             "Was gesendet wurde, ist zu groß.",
		fault.LimitExceeded:        "Was gesendet wurde, ist zu viel.",
		fault.QuotaExceeded:        "Das Konto hat keinen Platz mehr.",
		fault.NotAFolder:           "Die Datei kann nicht abgelegt werden.",
		fault.InvalidPath:          "Die Datei kann nicht abgelegt werden.",
		fault.RateLimited:          "Das waren zu viele Anfragen in kurzer Zeit. Bitte warten Sie einen Moment und versuchen Sie es noch einmal.",
		fault.Overloaded:           "Der Dienst ist gerade ausgelastet. Bitte versuchen Sie es gleich noch einmal.",
		fault.StorageUnavailable:   "Der Dienst ist gerade ausgelastet. Bitte versuchen Sie es gleich noch einmal.",
	},
	problems: germanProblems,
}

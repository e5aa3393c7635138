package download

import (
	"ql/internal/resource/shares"
	"ql/internal/wire"
)

// words are the texts of the pages in one language.
type words struct {
	language                 string
	endings                  map[shares.State]ending
	missing, shared, tooSoon ending
}

// ending is what is said of a link that leads nowhere, or not now, in a title and a sentence.
type ending struct{ title, words string }

// languages are those that pages are written in, the first for everybody who reads none of them, and for programs.
var languages = []*words{&english, &german}

// wordsFor returns the words of a page by the languages that its reader prefers.
func wordsFor(accepted string) *words {
	chosen := wire.ChooseLanguage(accepted, "en", "de")
	for _, w := range languages {
		if w.language == chosen {
			return w
		}
	}
	return languages[0]
}

// ended is what is said of a link that has ended so.
func (w *words) ended(state shares.State) ending {
	if e, ok := w.endings[state]; ok {
		return e
	}
	return w.endings[shares.Used] // it was open when somebody else looked, and may be again
}

var english = words{
	language: "en",
	endings: map[shares.State]ending{
		shares.Used:    {"This link was used already", "The file could be loaded by this link a limited number of times, and was. Ask whoever sent you the link for another one."},
		shares.Expired: {"This link has expired", "The file could be loaded by this link for a limited time, which is over. Ask whoever sent you the link for another one."},
		shares.Revoked: {"This link was taken back", "Whoever shared the file has taken the link back. Ask them if you still need the file."},
	},
	missing: ending{"There is no such link", "Look whether the whole link was copied, or ask whoever sent it to you for another one."},
	shared:  ending{"A file was shared with you", "Open this link in a browser to load the file."},
	tooSoon: ending{"Not yet", "This link is not loaded ahead. Open it to load the file."},
}

var german = words{
	language: "de",
	endings: map[shares.State]ending{
		shares.Used:    {"Dieser Link wurde schon benutzt", "Die Datei konnte über diesen Link nur einige Male geladen werden, und das ist geschehen. Bitten Sie um einen neuen Link, wo Sie diesen bekommen haben."},
		shares.Expired: {"Dieser Link ist abgelaufen", "Die Datei konnte über diesen Link nur eine Zeit lang geladen werden, und die ist vorbei. Bitten Sie um einen neuen Link, wo Sie diesen bekommen haben."},
		shares.Revoked: {"Dieser Link wurde zurückgenommen", "Wer die Datei geteilt hat, hat den Link zurückgenommen. Fragen Sie dort nach, wenn Sie die Datei noch brauchen."},
	},
	missing: ending{"Diesen Link gibt es nicht", "Sehen Sie nach, ob der ganze Link kopiert wurde, oder bitten Sie um einen neuen, wo Sie ihn bekommen haben."},
	shared:  ending{"Eine Datei wurde mit Ihnen geteilt", "Öffnen Sie diesen Link in einem Browser, um die Datei zu laden."},
	tooSoon: ending{"Noch nicht", "Dieser Link wird nicht im Voraus geladen. Öffnen Sie ihn, um die Datei zu laden."},
}

package wire

import (
	"strconv"
	"time"
)

// LogEntry is an entry of an account's log.
type LogEntry struct {
	Number int64
	At     time.Time
	Act    string
	On     string // "" for the account itself
	By     string
	Key    string // the name of the named key, "" for others
	From   string // a network, "" for none
	Result string
	Count  int64
	Hash   string
}

// AppendLog appends the answer of GET /v1/account/log. Next is where the following page begins, ""
// at the end.
func AppendLog(dst []byte, entries []LogEntry, next string) []byte {
	dst = append(dst, `{"status":"ok","entries":[`...)
	for i := range entries {
		e := &entries[i]
		dst = append(appendComma(dst), `{"number":`...)
		dst = strconv.AppendInt(dst, e.Number, 10)
		dst = appendTime(appendName(dst, "at"), e.At)
		dst = appendTextField(dst, "act", e.Act)
		dst = appendTextOrNull(dst, "on", e.On)
		dst = appendTextField(dst, "by", e.By)
		dst = appendTextOrNull(dst, "key", e.Key)
		dst = appendTextOrNull(dst, "from", e.From)
		dst = appendTextField(dst, "result", e.Result)
		dst = appendName(dst, "count")
		dst = strconv.AppendInt(dst, e.Count, 10)
		dst = appendTextField(dst, "hash", e.Hash)
		dst = append(dst, '}')
	}
	return appendNext(dst, next)
}

package wire

import (
	"strconv"
	"time"
)

// UsageEntry is what an account has used on a day or in a month.
type UsageEntry struct {
	Period  string // 2026-11-16 or 2026-11
	Calls   int64
	Running int64 // milliseconds
	Egress  int64 // bytes
}

// AppendUsage appends the answer of GET /v1/usage. By is "day".
func AppendUsage(dst []byte, by string, resets time.Time, list []UsageEntry) []byte {
	dst = append(dst, `{"status":"ok","by":`...)
	dst = appendText(dst, by)
	dst = appendTime(appendName(dst, "resets_at"), resets)
	dst = append(appendName(dst, "usage"), '[')
	for i := range list {
		u := &list[i]
		dst = append(appendComma(dst), '{')
		dst = appendText(dst, by)
		dst = append(dst, ':')
		dst = appendText(dst, u.Period)
		dst = strconv.AppendInt(appendName(dst, "calls"), u.Calls, 10)
		dst = strconv.AppendInt(appendName(dst, "running_time"), u.Running, 10)
		dst = strconv.AppendInt(appendName(dst, "egress"), u.Egress, 10)
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

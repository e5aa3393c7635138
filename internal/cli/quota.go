package cli

import (
	"fmt"
	"strconv"
	"time"

	"ql/internal/operator"
	"ql/lang/value"
)

type accountQuota struct{ who }

// quotaJSON is what an account has used of something, and may use: null is no
// limit.
type quotaJSON struct {
	Used  int64  `json:"used"`
	Limit *int64 `json:"limit"`
}

// allQuotas are those of an account.
type allQuotas struct {
	Plan    string    `json:"plan"`
	Month   string    `json:"month"`
	Storage quotaJSON `json:"storage"`
	Records quotaJSON `json:"records"`
	Calls   quotaJSON `json:"calls"`
	Running quotaJSON `json:"running_time"` // milliseconds
	Egress  quotaJSON `json:"egress"`
}

// Run implements the command.
func (k *accountQuota) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		q, err := o.Quota(c.ctx, k.Account)
		if err != nil {
			return err
		}
		if o.IsForDevelopers(k.Account) {
			fmt.Fprintln(c.err, "note: a service with --dev has other limits for the development account: say --dev here too to see them")
		}
		c.showQuota(allQuotas{
			string(q.Plan), q.Month.String(),
			newQuotaJSON(q.Stored, q.Limits.StorageBytes),
			newQuotaJSON(q.RecordBytes, q.Limits.RecordsBytes),
			newQuotaJSON(q.Used.Calls, q.Limits.CallsPerMonth),
			newQuotaJSON(q.Used.Running.Milliseconds(), q.Limits.RunningPerMonth.Milliseconds()),
			newQuotaJSON(q.Used.Egress, q.Limits.EgressPerMonth),
		})
		return nil
	})
}

func (c *console) showQuota(q allQuotas) {
	if c.json {
		c.print(q)
		return
	}
	c.table(func(row func(...any)) {
		row("plan", q.Plan)
		row("month", q.Month)
		row("storage", of(q.Storage, sized))
		row("records", of(q.Records, sized))
		row("calls", of(q.Calls, func(n int64) string { return strconv.FormatInt(n, 10) }))
		row("running_time", of(q.Running, func(n int64) string { return (time.Duration(n) * time.Millisecond).String() }))
		row("egress", of(q.Egress, sized))
	})
}

func newQuotaJSON(used, limit int64) quotaJSON {
	if limit == 0 {
		return quotaJSON{Used: used}
	}
	return quotaJSON{used, &limit}
}

// of writes what was used of a limit.
func of(q quotaJSON, write func(int64) string) string {
	if q.Limit == nil {
		return write(q.Used) + ", no limit"
	}
	return write(q.Used) + " of " + write(*q.Limit)
}

// sized writes a number of bytes.
func sized(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(u.size), u.name)
		}
	}
	return value.FormatByteCount(n)
}

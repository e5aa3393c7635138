package admittest

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// idle are the metrics of a service that are zero when nobody calls.
var idle = []string{
	"ql_scripts_running", "ql_scripts_computing", "ql_scripts_waiting", "ql_scripts_memory_bytes", "ql_scripts_turns_after_leave_total",
	"ql_call_memory_bytes", "ql_call_memory_waiting",
	`ql_password_hashes_running{for="log-ins"}`, `ql_password_hashes_running{for="scripts"}`,
	`ql_password_hashes_waiting{for="log-ins"}`, `ql_password_hashes_waiting{for="scripts"}`,
}

// AwaitIdle waits until a service in a process of its own, known by the address of its
// metrics, holds nothing any more. It returns in words what is held when ctx ends or the
// process has, and "" for nothing.
func AwaitIdle(ctx context.Context, address string, exited <-chan struct{}) (left string) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if left = held(ctx, address); left == "" {
			return ""
		}
		select {
		case <-ticker.C:
		case <-exited:
			return left
		case <-ctx.Done():
			return left
		}
	}
}

func held(ctx context.Context, address string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }() // nothing was written
	values := map[string]string{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if at := strings.LastIndexByte(lines.Text(), ' '); at >= 0 {
			values[lines.Text()[:at]] = lines.Text()[at+1:]
		}
	}
	var left []string
	for _, name := range idle {
		if value, known := values[name]; !known {
			left = append(left, name+" is not there")
		} else if f, err := strconv.ParseFloat(value, 64); err != nil || f != 0 {
			left = append(left, name+" "+value)
		}
	}
	return strings.Join(left, ", ")
}

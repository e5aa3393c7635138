package load

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestAnswers reads answers as a server would send them.
func TestAnswers(t *testing.T) {
	for _, c := range []struct{ answer, body, err string }{
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello", "hello", ""},
		{"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "", ""},
		{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", "", "503"},
		{"HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello", "", "no length"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA\r\n, my world\r\n0\r\n\r\n", "hello, my world", ""},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "", "EOF"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n", "", "invalid syntax"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "", "EOF"},
	} {
		near, far := net.Pipe()
		go func() {
			_, _ = bufio.NewReader(far).ReadString('!')
			_, _ = io.WriteString(far, c.answer)
			_ = far.Close()
		}()
		caller := &Caller{conn: near, in: bufio.NewReader(near)}
		body, err := caller.Ask([]byte("hello!"))
		caller.Close()
		if c.err == "" && (err != nil || string(body) != c.body) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q gives %q and %v", c.answer, body, err)
		}
	}
}

func TestFigures(t *testing.T) {
	m := Measured{Took: 2 * time.Second}
	for i := range 100 {
		m.Times = append(m.Times, time.Duration(i+1))
	}
	if m.Rate() != 50 || m.Percentile(50) != 51 || m.Percentile(99) != 100 {
		t.Error(m.Rate(), m.Percentile(50), m.Percentile(99))
	}
	if got := Ratio([]float64{1, 9, 4}, []float64{2, 3, 4}); got != 1 {
		t.Errorf("the median of a half, three and one is %v", got)
	}
}

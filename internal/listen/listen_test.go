package listen

import (
	"log/slog"
	"net/http"
	"testing"
)

func TestServerLimits(t *testing.T) {
	s := NewServer(nil, Options{Handler: http.NotFoundHandler(), Log: slog.New(slog.DiscardHandler), ReadHeaderTimeout: 1, ReadTimeout: 2, IdleTimeout: 3}).http
	if s.ReadHeaderTimeout != 1 || s.ReadTimeout != 2 || s.IdleTimeout != 3 || s.WriteTimeout != 0 || s.MaxHeaderBytes != 32<<10 || s.HTTP2.MaxConcurrentStreams != 100 {
		t.Errorf("the server is %+v", s)
	}
}

func TestLocalAddress(t *testing.T) {
	for at, want := range map[string]string{
		"0.0.0.0:80": "localhost:80", "[::]:8080": "localhost:8080", "127.0.0.1:1": "127.0.0.1:1", "[::1]:1": "[::1]:1",
	} {
		if got := LocalAddress(at); got != want {
			t.Errorf("%s is reached by %s, want %s", at, got, want)
		}
	}
}

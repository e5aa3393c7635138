// Package forward sends a call on to the node that can answer it, and receives those that others send. Nodes know each
// other by the master key that all of them have: each shows a certificate of the key that is derived from it, and
// takes nothing from who does not. What goes between them is encrypted.
package forward

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"time"

	"ql/internal/guard"
	"ql/internal/listen"
)

// The headers by which a node says what the request was like that it received. Method is among them because a request by
// GET may be sent twice by the library, and one by POST never is.
const (
	headerMethod    = "Ql-Node-Method"
	headerFrom      = "Ql-Node-From"
	headerEncrypted = "Ql-Node-Encrypted"
	headerSite      = "Ql-Node-Site"
	// headerMoved says of an answer that what was asked for belongs to another node. The status alone does not: scripts
	// choose theirs.
	headerMoved = "Ql-Node-Moved"
)

const (
	// connectTime is how long a node may take to answer at all: one that is well does so at once.
	connectTime = time.Second
	// handshakeTime is longer: many calls at once come to a busy node by as many connections, whose handshakes it computes.
	handshakeTime = 3 * time.Second
	idleTime      = 90 * time.Second
	// listenIdleTime is longer than that: of a connection that the other side closes while something is sent by it nobody
	// knows whether it arrived.
	listenIdleTime = 2 * idleTime
	// maxIdle is how many connections to a node stay open that nobody uses.
	maxIdle = 64
	// maxConns is how many calls are sent to a node at once. Others wait.
	maxConns = 512
	// maxPerAddress is how many connections one address may have here, where several nodes may be: who is none of them
	// can open connections too, and must not have all.
	maxPerAddress = 4 * maxConns
)

// Nodes are the nodes of a service, as one of them reaches them and is reached by them.
type Nodes struct {
	identity tls.Certificate
	public   ed25519.PublicKey
	client   http.Client

	listener listen.Listener // nil where nobody reaches this one
	server   *listen.Server  // nil before it is started
	received *received       // likewise
}

// Open returns the nodes that know a secret, with a listener for them at an address; at "" there is none.
func Open(ctx context.Context, address, secret string, l listen.Limits) (*Nodes, error) {
	n, err := open(secret)
	if err != nil || address == "" {
		return n, err
	}
	l.PerAddress = maxPerAddress
	n.listener, err = listen.Open(ctx, "node-listen", address, l)
	return n, err
}

// Address is where others reach this node, with the port that it took; "" for nowhere.
func (n *Nodes) Address() string {
	if n == nil || n.listener == nil {
		return ""
	}
	return n.listener.Addr().String()
}

// Start serves what others send on. The server is nil where nobody reaches this node.
func (n *Nodes) Start(next, sites http.Handler, o listen.Options, g *guard.Guard, failed chan<- error) *listen.Server {
	if n == nil || n.listener == nil {
		return nil
	}
	n.received = newReceived(g)
	o.Handler, o.TLS, o.IdleTimeout = begun(receive(next, sites)), nil, listenIdleTime
	o.ConnContext, o.ConnState, o.Drain = withReceiving, n.received.state, n.received.end
	n.server = listen.NewServer(n.received.listener(n.listener, n.tls()), o)
	n.server.Start(g, failed)
	return n.server
}

func open(secret string) (*Nodes, error) {
	seed := sha256.Sum256([]byte("ql nodes\x00" + secret))
	key := ed25519.NewKeyFromSeed(seed[:])
	n := &Nodes{public: key.Public().(ed25519.PublicKey)}
	// Nobody looks at what the certificate says, so that no clock decides who is one of them.
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, n.public, key)
	if err != nil {
		return nil, err
	}
	n.identity = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	n.client = http.Client{
		Transport: &http.Transport{
			DialTLSContext:     n.dial,
			DisableCompression: true, MaxIdleConnsPerHost: maxIdle, MaxConnsPerHost: maxConns, IdleConnTimeout: idleTime,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return n, nil
}

// tls is how both sides speak.
func (n *Nodes) tls() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{n.identity}, ClientAuth: tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // the key is compared instead, below
		VerifyConnection:   n.verify,
	}
}

var errStranger = errors.New("it does not have the master key of this node")

func (n *Nodes) verify(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return errStranger
	}
	public, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok || !n.public.Equal(public) {
		return errStranger
	}
	return nil
}

// Close closes the connections to others that nobody uses, and the listener of one that was not started.
func (n *Nodes) Close(context.Context) error {
	if n == nil {
		return nil
	}
	n.client.CloseIdleConnections()
	if n.listener == nil || n.server != nil {
		return nil
	}
	return n.listener.Close()
}

// Origin is where a call came from that was sent on.
type Origin struct {
	Addr      netip.Addr
	Encrypted bool
	Site      bool // it is one of a visitor of a site
}

// hopHeaders are those of a connection, and not of what goes by it.
var hopHeaders = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
	"X-Forwarded-For", "X-Forwarded-Proto", headerMethod, headerFrom, headerEncrypted, headerSite}

// replayHeaders are those for which the library sends a request by POST again, where it has no body. Spelled in small letters
// they are nothing to it, and the same to who receives them.
var replayHeaders = []string{"Idempotency-Key", "X-Idempotency-Key"}

// ErrNotSent is the error of a request that the other node certainly did not begin.
var ErrNotSent = errors.New("another node did not take a call")

// Send sends a request to the node at an address, with a body of so many bytes, -1 where that is not known. The body may be
// read after it has returned, until it is closed.
func (n *Nodes) Send(ctx context.Context, to string, r *http.Request, from Origin, body io.ReadCloser, length int64) (*http.Response, error) {
	var used use
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { used.begin(got.Conn) }})
	sent := (&http.Request{Method: http.MethodPost, URL: r.URL, Host: r.Host, Header: r.Header.Clone(), Body: http.NoBody}).WithContext(ctx)
	u := *r.URL
	u.Scheme, u.Host, u.User, u.Fragment = "https", to, nil, ""
	sent.URL = &u
	for _, name := range hopHeaders {
		sent.Header.Del(name)
	}
	if _, told := sent.Header["User-Agent"]; !told {
		sent.Header["User-Agent"] = []string{""} // else the library tells of itself
	}
	for _, name := range replayHeaders {
		if values := sent.Header[name]; values != nil {
			delete(sent.Header, name)
			sent.Header[strings.ToLower(name)] = values
		}
	}
	sent.Header.Set(headerMethod, r.Method)
	sent.Header.Set(headerFrom, from.Addr.String())
	if from.Encrypted {
		sent.Header.Set(headerEncrypted, "1")
	}
	if from.Site {
		sent.Header.Set(headerSite, "1")
	}
	if length != 0 {
		sent.Body, sent.ContentLength = body, length
	}
	answer, err := n.client.Do(sent)
	if err != nil && used.isNothing() {
		return nil, errors.Join(ErrNotSent, err)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range hopHeaders {
		answer.Header.Del(name)
	}
	return answer, nil
}

// Bytes is a body that is at hand.
func Bytes(body []byte) (io.ReadCloser, int64) {
	return io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// SetMoved has an answer to another node say that what it asked for belongs to yet another one, or not.
func SetMoved(h http.Header, moved bool) {
	h.Del(headerMoved)
	if moved {
		h.Set(headerMoved, "1")
	}
}

// HasMoved tells whether an answer says so.
func HasMoved(answer *http.Response) bool { return answer.Header.Get(headerMoved) != "" }

type originKey struct{}

// From returns where a request came from that another node sent on.
func From(ctx context.Context) (Origin, bool) {
	o, ok := ctx.Value(originKey{}).(Origin)
	return o, ok
}

// receive hands what other nodes send on to the handlers of callers and of visitors, as they received it.
func receive(next, sites http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddr(r.Header.Get(headerFrom))
		method := r.Header.Get(headerMethod)
		if err != nil || method == "" {
			http.Error(w, "this is for other nodes", http.StatusBadRequest)
			return
		}
		origin := Origin{Addr: from, Encrypted: r.Header.Get(headerEncrypted) != "", Site: sites != nil && r.Header.Get(headerSite) != ""}
		received := r.WithContext(context.WithValue(r.Context(), originKey{}, origin))
		received.Method, received.TLS, received.RemoteAddr = method, nil, netip.AddrPortFrom(from, 0).String()
		for _, name := range []string{headerMethod, headerFrom, headerEncrypted, headerSite} {
			received.Header.Del(name)
		}
		if agent := received.Header["User-Agent"]; len(agent) == 1 && agent[0] == "" {
			received.Header.Del("User-Agent")
		}
		if origin.Site {
			sites.ServeHTTP(w, received)
			return
		}
		next.ServeHTTP(w, received)
	})
}

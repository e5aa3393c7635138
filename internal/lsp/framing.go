package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxMessage bounds a message. An editor sends whole documents in them, whose text may be twice
	// as long there as it is.
	maxMessage = 16 << 20
	// maxHeader bounds what stands before one, of which a length is all that counts.
	maxHeader = 4 << 10
)

// message is one message of JSON-RPC: a request with an id and a method, a notification with a method
// alone, or the answer to a request of ours, of which there are none.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// isRequest tells whether a message wants an answer.
func (m *message) isRequest() bool { return len(m.ID) > 0 && string(m.ID) != "null" }

// The codes of errors that the protocol has.
const (
	parseError       = -32700
	invalidRequest   = -32600
	methodNotFound   = -32601
	invalidParams    = -32602
	internalError    = -32603
	notInitialized   = -32002
	requestFailed    = -32803
	requestCancelled = -32800
)

// rpcError is the error of an answer.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// errorf makes the error of an answer.
func errorf(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// errFraming is the error of a stream on which no message can be told from the next any more.
var errFraming = errors.New("what was sent is no message of the protocol")

// readMessage reads the next message. At the end of the stream the error is io.EOF; an *rpcError is one
// to answer, after which the stream goes on; any other one ends it.
func readMessage(r *bufio.Reader) (*message, error) {
	length, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if length > maxMessage {
		if _, err := io.CopyN(io.Discard, r, int64(length)); err != nil {
			return nil, err
		}
		return nil, errorf(invalidRequest, "the message has %d bytes, and may have %d", length, maxMessage)
	}
	// It grows with what comes: what the length promises may never come.
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(length)); err != nil {
		return nil, errors.Join(errFraming, err)
	}
	return decodeMessage(body.Bytes())
}

// decodeMessage reads a message. The error is an *rpcError.
func decodeMessage(body []byte) (*message, error) {
	m := &message{}
	if err := json.Unmarshal(body, m); err != nil {
		if json.Valid(body) {
			return nil, errorf(invalidRequest, "the message is no object of JSON-RPC")
		}
		return nil, errorf(parseError, "the message is no JSON")
	}
	if m.Version != "2.0" {
		return nil, errorf(invalidRequest, `the message has no "jsonrpc": "2.0"`)
	}
	if len(m.ID) > 0 && (m.ID[0] == '{' || m.ID[0] == '[' || m.ID[0] == 't' || m.ID[0] == 'f') {
		return nil, errorf(invalidRequest, "the id of the message is neither a number nor a text")
	}
	return m, nil
}

// readHeader reads the lines before a message, and returns its length.
func readHeader(r *bufio.Reader) (length int, err error) {
	length = -1
	for left, first := maxHeader, true; ; first = false {
		line, err := readLine(r, left)
		switch {
		case errors.Is(err, io.EOF) && first && line == "":
			return 0, io.EOF
		case err != nil:
			return 0, errors.Join(errFraming, err)
		case line == "" && length >= 0:
			return length, nil
		case line == "":
			return 0, errFraming
		}
		left -= len(line)
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return 0, errFraming
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31)
		if err != nil || length >= 0 {
			return 0, errFraming
		}
		length = int(n)
	}
}

// readLine reads a line of at most so many bytes, without its end.
func readLine(r *bufio.Reader, most int) (string, error) {
	var line []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			return string(line), err
		}
		if c == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		if line = append(line, c); len(line) > most {
			return "", errFraming
		}
	}
}

// writeMessage writes a message with its length before it.
func writeMessage(w io.Writer, m any) error {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return err
	}
	text := bytes.TrimSuffix(body.Bytes(), []byte("\n"))
	_, err := w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(text)), text...))
	return err
}

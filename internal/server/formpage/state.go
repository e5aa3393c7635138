package formpage

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/wire"
)

// longestWait is how long a browser may wait at once for a job to get on.
const longestWait = 25 * time.Second

// The states of a page beside those of questions, to whoever shows the receipt of its answer.
const (
	stateWorking = "working" // the job is at work
	stateNext    = "next"    // there is another question, at the address that comes with it
	stateDone    = "done"    // nothing more is asked here
)

// pageState is how a page stands, for scripts of the page.
type pageState struct {
	State string `json:"state"`
	URL   string `json:"url,omitempty"`
}

// state answers GET /form/{token}?state: how the page stands, as JSON. Without more that is the state of
// its question (announced, open, answered, expired, withdrawn). With the receipt of its answer, as the
// page that says "Working…" has it in its address, it is working, next, with the url of the next
// question, or done; and with wait, a number of seconds, it is answered once that is no longer working,
// or after so long. Who waits counts as a listener of the account, so that it may be refused with 429:
// then the page is to be loaded again after a while.
func (p pages) state(h http.Header, r *server.Request, query url.Values) (server.Response, error) {
	wait, err := strconv.Atoi(query.Get("wait"))
	if query.Has("wait") && (err != nil || wait < 0) {
		return server.Response{}, fault.Invalid("wait", "is no whole number of seconds: 20 fits, and more than %d is %[1]d", int(longestWait.Seconds()))
	}
	s := pageState{}
	f, ok, err := p.service.FollowPrompt(r.Context(), r.Caller, r.Variable, query.Get("receipt"), min(time.Duration(min(wait, 3600))*time.Second, longestWait))
	switch {
	case err != nil:
		return server.Response{}, err
	case !ok:
		q, err := p.service.Prompt(r.Context(), r.Caller, r.Variable)
		if err != nil {
			return server.Response{}, err
		}
		s.State = string(q.State)
	case f.Next != "":
		s = pageState{stateNext, f.Next}
	case f.Working:
		s.State = stateWorking
	default:
		s.State = stateDone
	}
	body, err := json.Marshal(s)
	wire.SetJSON(h, r.Setting(""))
	return server.Response{Status: http.StatusOK, Body: body}, err
}

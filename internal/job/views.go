package job

import (
	"context"
	"time"
)

// Views is what whoever looks at a job, or cancels it, calls.
type Views interface {
	// View returns a job with all there is to show; unfinished ones too, as of
	// their last snapshot. A job that is not there is ErrNotFound.
	View(ctx context.Context, id ID) (*View, error)
	// ViewWithin is View of a job whose bytes are at most so many: of one that holds
	// more it leaves them out, and says how many they are. An error and a prompt of up
	// to AlwaysShownBytes stay; of a prompt that has more there is its id alone.
	ViewWithin(ctx context.Context, id ID, most int64) (*View, error)
	// Cancel finishes a job that nobody runs, and asks the attempt that runs it
	// to stop otherwise. It returns the state that the job has then, and whether
	// this call finished it; ErrNotFound for a job that is not there. Its result
	// is the output so far, e its error, and delivery as in End.
	Cancel(ctx context.Context, id ID, now time.Time, e []byte, delivery string) (State, bool, error)
}

// AlwaysShownBytes is how many bytes of an error, or of a prompt's text, ViewWithin
// returns however few it may.
const AlwaysShownBytes = 16 << 10

// View is a job as it can be shown.
type View struct {
	Record
	Seq      int64
	Prompt   *Prompt   // of a paused one
	Until    time.Time // of a waiting one
	Webhook  string
	Stopping bool
	// WebhookTrace says that the trace is sent to the webhook.
	WebhookTrace bool

	// Bytes are how many the job holds that can be shown: its result, trace, error and
	// response, and the text of its prompt.
	Bytes      int64
	Output     int64 // of the result
	TraceBytes int64 // of the trace
	// Omitted says that these bytes were left out.
	Omitted bool
}

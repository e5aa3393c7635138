package job

import "crypto/sha256"

// WebhookEvents is a set of what the webhook of a job is told. The zero set means its end.
type WebhookEvents uint8

// The events. Their numbers are stored.
const (
	EventFinished WebhookEvents = 1 << iota
	EventPaused
)

// webhookEvents are the events as callers write them.
var webhookEvents = map[string]WebhookEvents{"finished": EventFinished, "paused": EventPaused}

// EventNamed returns the event of a name; 0 where there is none.
func EventNamed(name string) WebhookEvents { return webhookEvents[name] }

// OrDefault is the set, or that of the job's end where nothing is in it.
func (e WebhookEvents) OrDefault() WebhookEvents {
	if e == 0 {
		return EventFinished
	}
	return e
}

// Has tells whether an event is in the set.
func (e WebhookEvents) Has(one WebhookEvents) bool { return e.OrDefault()&one != 0 }

// String returns the name of one event.
func (e WebhookEvents) String() string {
	for name, one := range webhookEvents {
		if one == e {
			return name
		}
	}
	return ""
}

// PausedDeliveryID is DeliveryID of the pause of a job at a prompt.
func PausedDeliveryID(id ID, prompt string) string {
	return deliveryID(sha256.Sum256(append(append([]byte("webhook of prompt "), id[:]...), prompt...)))
}

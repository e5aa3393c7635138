package service

import (
	"context"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/principal"
)

const (
	// strangerInterval is how often an answer of somebody who proves nothing is in the log of an
	// account: they ask and answer as often as they like, and must not push out what others did.
	// The question itself has each of them.
	strangerInterval = time.Hour
	// mostStrangers bounds the accounts of which is known when one was logged.
	mostStrangers = 10_000
)

// strangers counts the answers of those who prove nothing, by account. The zero value is ready.
type strangers struct {
	mu   sync.Mutex
	seen map[account.ID]strangerAnswers
}

type strangerAnswers struct {
	logged time.Time
	since  int64 // answers after that
}

// due returns how many answers an entry stands for that is written now, 0 where none is to be.
func (s *strangers) due(id account.ID, now time.Time) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.seen[id]; ok && now.Sub(a.logged) < strangerInterval {
		return 0
	}
	return s.seen[id].since + 1
}

// note notes that an answer was accepted, and logged or not.
func (s *strangers) note(id account.ID, now time.Time, logged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.seen[id]
	if a.since++; logged {
		a = strangerAnswers{logged: now}
	}
	if s.seen == nil || len(s.seen) >= mostStrangers {
		s.seen = map[account.ID]strangerAnswers{}
	}
	s.seen[id] = a
}

// answering is acting for an answer to a prompt. The function is to be called once it is accepted.
func (s *Service) answering(ctx context.Context, c Caller, p *principal.Principal) (context.Context, func()) {
	actor := audit.ActorOf(p, c.Addr, p.Account.Limits(s.o.Limits).LogBytes)
	if p.By != principal.ByNobody && p.By != principal.ByOrigin {
		return audit.By(ctx, actor), func() {}
	}
	now := s.o.Clock()
	actor.Count = s.strangers.due(p.Account.ID, now)
	actor.Silent = actor.Count == 0
	return audit.By(ctx, actor), func() { s.strangers.note(p.Account.ID, now, !actor.Silent) }
}

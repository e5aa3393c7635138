package service

import (
	"context"
	"io"

	"ql/internal/account"
	"ql/lang/form"
)

// AnswerFiles takes the files that come with an answer on the page of a question, before it is known
// whether the answer fits. They are counted as what the account stores while they come; those that no
// accepted answer has are gone when it is closed. It is used by one goroutine at a time.
type AnswerFiles struct {
	service *Service
	caller  Caller
	owner   account.Account
	tree    FileTree
	close   []func()
}

// AnswerFiles takes the files of an answer on a page. The caller closes it.
func (s *Service) AnswerFiles(c Caller, q PromptPage) *AnswerFiles {
	return &AnswerFiles{service: s, caller: c, owner: q.owner}
}

// receivedBytes is what a file that has come holds in memory at most.
const receivedBytes = 64 << 10

// Receive takes the content of a file, which it reads to its end or to where it is refused. The first
// one is a transfer of the account from then on.
func (a *AnswerFiles) Receive(ctx context.Context, name string, from io.Reader) (form.Received, error) {
	r, err := a.receive(ctx, name, from)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (a *AnswerFiles) receive(ctx context.Context, name string, from io.Reader) (ReceivedFile, error) {
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	if err := a.caller.Memory.Grow(ctx, receivedBytes); err != nil {
		return nil, err
	}
	r, err := a.tree.Receive(ctx, name, from)
	if err != nil {
		return nil, fileFault(err)
	}
	a.close = append(a.close, r.Discard)
	return r, nil
}

// open opens the files of the account, within what visitors may have on their way.
func (a *AnswerFiles) open(ctx context.Context) error {
	if a.tree != nil {
		return nil
	}
	limits := a.owner.Limits(a.service.o.Limits)
	leave, err := a.service.o.Transfers.Acquire(ctx, int64(a.owner.ID), visitorTransfers(limits.Concurrent))
	if err != nil {
		return err
	}
	tree, release, err := a.service.o.Files(ctx, a.owner, limits)
	if err != nil {
		leave()
		return err
	}
	a.tree, a.close = tree, append(a.close, leave, release)
	return nil
}

// visitorTransfers is how many files of an account may be on their way while one of a visitor begins: the
// owner has another quarter, as of all else.
func visitorTransfers(most int) int { return most - most/4 }

// Close discards what was not stored.
func (a *AnswerFiles) Close() {
	for len(a.close) > 0 {
		last := len(a.close) - 1
		a.close[last]()
		a.close = a.close[:last]
	}
}

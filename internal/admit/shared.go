package admit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"
)

// Buckets are those of all nodes of a service: what one draws, none of the others has.
type Buckets interface {
	// Nodes returns how many nodes there are, without asking anybody.
	Nodes() int
	// Draw takes tokens out of a bucket, which is full where nobody drew from it for long.
	Draw(ctx context.Context, d Draw) (Drawn, error)
	// Debts returns how long it is until each bucket is full.
	Debts(ctx context.Context, keys [][sha256.Size]byte) ([]time.Duration, error)
	// Spend takes a token out of each bucket; one that is empty stays so.
	Spend(ctx context.Context, list []Spent) error
	// Sweep removes buckets that are full.
	Sweep(ctx context.Context) error
}

// Draw is what a node asks of a bucket.
type Draw struct {
	Key    [sha256.Size]byte
	Tokens int           // at most, 1 or more
	Each   time.Duration // in which a token comes back
	Depth  time.Duration // in which an empty bucket is full
	Back   time.Duration // worth of tokens that it drew before and gives back
}

// Drawn is what a node got.
type Drawn struct {
	Tokens int
	Debt   time.Duration // until the bucket is full, from now on
}

// Spent is a token that was used up.
type Spent struct {
	Key         [sha256.Size]byte
	Each, Depth time.Duration // as of a Draw
}

// ClockJump is how much longer than its depth a bucket may take to be full at most: where it seems to take longer, the clock of
// the store was set back, and nobody knows what was spent.
const ClockJump = time.Minute

const (
	// blockLife is for how long tokens count that were drawn from a bucket of all nodes.
	blockLife = time.Second
	// drawTimeout is for how long a call waits for tokens, and awayFor how long after a failure each node
	// counts for itself.
	drawTimeout = time.Second
	awayFor     = time.Second
)

// block is what a node has drawn from a bucket and not given out yet. Blocks grow while they are used up, so
// that who calls often rarely waits for the store, and who calls now and then leaves the tokens to other nodes.
type block struct {
	mu      sync.Mutex // held while tokens are drawn
	tokens  int
	given   int           // out of the last draw
	drawn   time.Duration // when they were, since the limiter's start
	fullAt  time.Duration // when the bucket is, as far as is known
	refused time.Duration // until when nothing is to be had, as far as is known
}

// allowShared counts a call in the bucket of all nodes. ok is false where that cannot be asked.
func (l *Limiter) allowShared(k *Key, r *Rate, nodes int) (v Verdict, ok bool) {
	now := l.clock().Sub(l.start)
	each := max(time.Microsecond, r.Per/time.Duration(r.Count))
	depth := each * time.Duration(r.Burst)
	s := l.shard(k)
	b := s.block(k, now)
	b.mu.Lock()
	defer b.mu.Unlock()
	now = max(now, l.clock().Sub(l.start)) // others may have drawn meanwhile
	if b.tokens == 0 || now >= b.drawn+blockLife {
		if now < b.refused {
			s.count(false)
			return Verdict{Rate: *r, Reset: b.fullAt - now, RetryAfter: b.refused - now}, true
		}
		if now < time.Duration(l.awayUntil.Load()) {
			return Verdict{}, false
		}
		if !l.draw(b, k, each, depth, max(1, r.Burst/(4*nodes)), now) {
			return Verdict{}, false
		}
		now = max(now, l.clock().Sub(l.start))
	}
	if b.tokens == 0 {
		s.count(false)
		wait := max(1, b.fullAt+each-depth-now)
		b.refused = now + min(wait, blockLife) // another node may give some back
		return Verdict{Rate: *r, Reset: max(0, b.fullAt-now), RetryAfter: wait}, true
	}
	b.tokens--
	b.given++
	s.count(true)
	debt := max(0, b.fullAt-now)
	return Verdict{OK: true, Rate: *r, Remaining: int(max(0, depth-debt)/each) + b.tokens, Reset: max(0, debt-time.Duration(b.tokens)*each)}, true
}

// draw draws the next block, of no more than most tokens.
func (l *Limiter) draw(b *block, k *Key, each, depth time.Duration, most int, now time.Duration) bool {
	size, back := 1, time.Duration(0)
	switch age := now - b.drawn; {
	case b.given == 0: // the first
	case age < blockLife: // it was used up
		size = 2 * b.given
	default:
		size = b.given
		// What came back by itself meanwhile may have been tokens that were never missing.
		back = max(0, time.Duration(b.tokens)*each-age)
		if age > 2*blockLife {
			size = 1
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), drawTimeout)
	defer cancel()
	drawn, err := l.shared.Draw(ctx, Draw{Key: k.hash(), Tokens: min(size, most), Each: each, Depth: depth, Back: back})
	l.draws.Add(1)
	if err != nil {
		l.drawFailures.Add(1)
		l.awayUntil.Store(int64(l.clock().Sub(l.start) + awayFor))
		return false
	}
	b.tokens, b.given, b.drawn, b.fullAt = drawn.Tokens, 0, now, now+drawn.Debt
	return true
}

// block returns what was drawn for a key.
func (s *shard) block(k *Key, now time.Duration) *block {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.blocks[*k]
	if b == nil {
		s.evictBlocks(now)
		b = &block{drawn: now - blockLife}
		s.blocks[*k] = b
	}
	return b
}

// evictBlocks forgets blocks that count no more before a new one is added, and where the shard is full one of
// those that it probes at.
func (s *shard) evictBlocks(now time.Duration) {
	var last *Key
	seen := 0
	for k, b := range s.blocks {
		if b.mu.TryLock() {
			idle := now >= b.drawn+2*blockLife && now >= b.refused
			b.mu.Unlock()
			if idle {
				delete(s.blocks, k)
				s.evicted++
			} else {
				last = &k
			}
		}
		if seen++; seen == probes {
			break
		}
	}
	if len(s.blocks) >= s.most && last != nil {
		delete(s.blocks, *last)
		s.evicted++
	}
}

func (s *shard) count(allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if allowed {
		s.allowed++
	} else {
		s.refused++
	}
}

// hash is the key as all nodes have it.
func (k *Key) hash() [sha256.Size]byte {
	b := make([]byte, 0, 128)
	b = binary.AppendUvarint(b, uint64(len(k.Rate)))
	b = append(b, k.Rate...)
	b = binary.AppendVarint(b, k.Account)
	b = binary.AppendUvarint(b, uint64(len(k.Origin)))
	b = append(b, k.Origin...)
	network, _ := k.Network.MarshalBinary() // never fails
	return sha256.Sum256(append(b, network...))
}

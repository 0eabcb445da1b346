package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/sched"
)

// A Census counts the connections and packet sockets of a group that have not ended. The lower half
// of the word counts accepted connections and listening packet sockets. The upper half counts those
// that were dialed.
//
// A waiter publishes the channel and then looks at the word. A leaver changes the word and
// then closes the channel, under the same lock. So one of them sees the other.
type Census struct {
	word atomic.Int64

	mu sync.Mutex
	// closed when one of the halves, or the word, falls to 0; nil: nobody waits
	changed chan struct{}
}

const oneDialed = 1 << 32

func weight(outbound bool) int64 {
	if outbound {
		return oneDialed
	}
	return 1
}

// Join counts one that begins.
func (p *Census) Join(outbound bool) { p.word.Add(weight(outbound)) }

// Leave counts one that has ended.
func (p *Census) Leave(outbound bool) {
	left := p.word.Add(-weight(outbound))
	if left != 0 && (outbound || Served(left) > 0) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Served is how many were not dialed.
func Served(word int64) int { return int(uint32(word)) }

// Everybody is how many there are.
func Everybody(word int64) int { return Served(word) + int(word>>32) }

// Len is how many there are.
func (p *Census) Len() int { return Everybody(p.word.Load()) }

// Wait waits until count is 0, of Served or Everybody, until ctx ends or over is closed.
func (p *Census) Wait(ctx context.Context, over <-chan struct{}, count func(word int64) int) error {
	for {
		p.mu.Lock()
		if p.changed == nil {
			p.changed = bubble.Chan[struct{}](0)
		}
		changed := p.changed
		p.mu.Unlock()
		if count(p.word.Load()) == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-over:
			return sched.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

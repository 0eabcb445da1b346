package conn

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/sched"
)

// A population counts what is attached to a group and has not ended: connections that were
// accepted and packet sockets that listen in the lower half of the word, those that were
// dialled in the upper half.
//
// A waiter publishes the channel and then looks at the word. A leaver changes the word and
// then closes the channel, under the same lock. So one of them sees the other.
type population struct {
	word atomic.Int64

	mu      sync.Mutex
	changed chan struct{} // closed when one of the halves, or the word, falls to 0; nil: nobody waits
}

const oneDialled = 1 << 32

func weight(outbound bool) int64 {
	if outbound {
		return oneDialled
	}
	return 1
}

func (p *population) join(outbound bool) { p.word.Add(weight(outbound)) }

func (p *population) leave(outbound bool) {
	left := p.word.Add(-weight(outbound))
	if left != 0 && (outbound || served(left) > 0) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// served is how many were not dialled.
func served(word int64) int { return int(uint32(word)) }

func everybody(word int64) int { return served(word) + int(word>>32) }

func (p *population) len() int { return everybody(p.word.Load()) }

// wait waits until count is 0, of served or everybody, until ctx ends or over is closed.
func (p *population) wait(ctx context.Context, over <-chan struct{}, count func(word int64) int) error {
	for {
		p.mu.Lock()
		if p.changed == nil {
			p.changed = make(chan struct{})
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

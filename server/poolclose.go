package server

import (
	"context"
	"fmt"

	"github.com/suiro-go/suiro/internal/bubble"
)

// PoolCounts are what has happened in a pool so far.
type PoolCounts struct {
	Dials      uint64 // dials that were begun
	DialErrors uint64 // of them, those that failed
	Unused     uint64 // those that nobody was waiting for any more when they had succeeded
	Reused     uint64 // how often an idle connection was given out
	Stale      uint64 // idle connections of which the peer or Check has made an end
	Expired    uint64 // those that were idle, or there, for too long
	Evicted    uint64 // those that were too many, or in the way of a shutdown
}

// PoolStats are a pool's state at a moment.
type PoolStats struct {
	Idle     int // connections that nobody has
	InUse    int // those that somebody has, or is about to have
	Dialling int
	Waiting  int // requests that are not answered, those that are being dialled for included
	PoolCounts
}

// Stats is the state of all addresses together. It costs as much as there are addresses.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := PoolStats{Idle: p.idle.Len(), PoolCounts: p.counts}
	for _, h := range p.hosts {
		s.Dialling += len(h.dialling)
		s.Waiting += h.waiting.Len()
	}
	s.InUse = p.total - s.Idle - s.Dialling
	return s
}

// Close closes the idle connections, gives up dials, and answers all who wait with
// ErrPoolClosed. Connections that are in use are closed when they are given back. A
// second call returns ErrPoolClosed.
func (p *Pool) Close() error {
	var do todo
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrPoolClosed
	}
	p.closed = true
	for _, h := range p.hosts {
		p.serve(h, &do)
		p.trim(h, &do)
		for len(h.idle) > 0 {
			p.retire(h.idle[0], &do)
		}
	}
	p.mu.Unlock()
	do.run(p)
	return nil
}

// Shutdown is Close, unless that was called before, and waits until the connections in
// use have been given back or have ended, or until ctx ends, whose error it then returns
// with how many there still are. A handler must not call it.
func (p *Pool) Shutdown(ctx context.Context) error {
	_ = p.Close()
	p.mu.Lock()
	if p.total == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.drained == nil {
		p.drained = bubble.Chan[struct{}](0)
	}
	drained := p.drained
	p.mu.Unlock()
	ctx, release := bubble.Context(ctx)
	defer release()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		return fmt.Errorf("server: pool: %d connections are still in use: %w", p.total, context.Cause(ctx))
	}
}

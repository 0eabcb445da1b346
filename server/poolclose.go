package server

import (
	"context"
	"fmt"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/ctxend"
	"github.com/suiro-go/suiro/internal/onworker"
)

// PoolCounts are the counters of a pool, from its first use on.
type PoolCounts struct {
	Dials      uint64 // dials that were begun
	DialErrors uint64 // dials that failed
	Unused     uint64 // dials that succeeded when no caller waited any more
	Reused     uint64 // how often an idle connection was given out
	Stale      uint64 // idle connections that the peer or Check ended
	Expired    uint64 // connections that exceeded IdleTimeout or MaxLifetime
	Evicted    uint64 // idle connections closed because of MaxIdle, MaxIdleTotal or a shutdown
}

// PoolStats are the state of a pool at one moment.
type PoolStats struct {
	Idle    int // idle connections
	InUse   int // connections that are given out, or about to be
	Dialing int // connections that are being dialed
	Waiting int // requests without an answer, including those with a dial in progress
	PoolCounts
}

// Stats returns the state of all addresses together. Its cost grows with the number of addresses.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := PoolStats{Idle: p.idle.Len(), PoolCounts: p.counts}
	for _, h := range p.hosts {
		s.Dialing += len(h.dialing)
		s.Waiting += h.waiting.Len()
	}
	s.InUse = p.total - s.Idle - s.Dialing
	return s
}

// Close closes the idle connections, cancels dials, and answers all waiting calls with
// ErrPoolClosed. Connections in use are closed when they are given back. A second call returns
// ErrPoolClosed.
func (p *Pool) Close() error {
	var do todo
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrPoolClosed
	}
	p.closed = true
	if p.shut != nil {
		close(p.shut)
	}
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

// Shutdown calls Close, unless the pool is closed already. Then it waits until the connections in
// use have been given back or have ended. If ctx ends before, it returns the error of ctx with the
// number of connections that are left. On a worker it does not wait: if connections are in use, the
// error is sched.ErrBlocksWorker.
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
	if err := onworker.Wait(); err != nil {
		return err
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		return fmt.Errorf("server: pool: %d connections are still in use: %w", p.total, ctxend.Reason(ctx))
	}
}

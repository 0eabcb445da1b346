package process

import (
	"context"
	"fmt"
	"time"

	"github.com/suiro-go/suiro/internal/onworker"
)

// killGrace is how long Shutdown waits for the next end of a process that it has killed. Only one
// that neither returns nor waits needs longer, but very many do together.
const killGrace = time.Second

// Shutdown ends the system. It refuses new processes, cancels Context.Draining, and sends all
// processes a cancel event. It waits for them to end, for Config.Grace or until ctx ends, then
// kills those that are left, and waits for them once more, until none has ended for a second. The
// error says how many have not ended; those are in a Step or function that does not return.
// Messages of SendAfter that were not sent by then go to Config.Dropped. If the System made its
// runtime, Shutdown closes it. In a process, and elsewhere on a worker of the
// System's runtime, Shutdown does nothing and returns sched.ErrBlocksWorker.
func (s *System) Shutdown(ctx context.Context) error {
	if err := onworker.End(s.rt); err != nil {
		return err
	}
	s.shutdownMu.Lock()
	defer s.shutdownMu.Unlock()
	s.stopping.Store(true) // first: see add
	s.draining.Cancel()
	if s.cfg.Grace > 0 {
		s.table.each(func(p *proc) { p.cancel() })
		s.await(ctx, s.cfg.Grace)
	}
	s.table.each(func(p *proc) { p.kill(ErrKilled) })
	left := s.Len()
	for before := left + 1; left > 0 && left < before; {
		before, left = left, s.await(context.Background(), killGrace)
	}
	s.dropDelayed()
	var err error
	if left > 0 {
		err = fmt.Errorf("process: %d processes have not ended", left)
	}
	if s.owned {
		if err == nil {
			return s.rt.Close()
		}
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		_ = s.rt.Shutdown(canceled) // does not wait for workers that are stuck
	}
	return err
}

// await waits until there are no processes, and returns how many are left.
func (s *System) await(ctx context.Context, d time.Duration) (left int) {
	expired := make(chan struct{})
	timer := s.rt.AfterFunc(d, func() { close(expired) })
	defer timer.Stop()
	for left = s.Len(); left > 0; left = s.Len() {
		select {
		case <-s.ended:
		case <-expired:
			return s.Len()
		case <-ctx.Done():
			return s.Len()
		case <-s.rt.Done():
			return s.Len()
		}
	}
	return 0
}

package conn

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// lateListeners are the listeners of which Close was called and whose task has not closed
// the descriptor yet: for long only where a worker is stuck. The workers must not be stopped
// before, or nobody closes it.
type lateListeners struct {
	mu  sync.Mutex
	all map[*Listener]bool
}

func (s *lateListeners) add(l *Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*Listener]bool{}
	}
	s.all[l] = true
}

func (s *lateListeners) remove(l *Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, l)
}

func (s *lateListeners) list() []*Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}

// wait waits until there are none, also of those that come meanwhile; until ctx ends, and
// then returns its error; or until the workers have stopped, with sched.ErrClosed.
func (s *lateListeners) wait(ctx context.Context) error {
	for all := s.list(); len(all) > 0; all = s.list() {
		for _, l := range all {
			if err := l.Wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

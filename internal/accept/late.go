package accept

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// late are the Sockets after Close that their task has not closed yet: for long only where a worker
// is stuck. The workers must not be stopped before, or nobody closes the descriptors.
type late struct {
	mu  sync.Mutex
	all map[*Socket]bool
}

func (l *late) add(s *Socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*Socket]bool{}
	}
	l.all[s] = true
}

func (l *late) remove(s *Socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, s)
}

func (l *late) list() []*Socket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.all))
}

// CloseAll closes all Sockets of the group. Its result waits for all calls of Close.
func (g *Group) CloseAll() *sync.WaitGroup {
	var all sync.WaitGroup
	for e := range g.Engine.Table.All() {
		if s, ok := e.Target.(*Socket); ok {
			all.Go(func() { _ = s.Close() })
		}
	}
	return &all
}

// Closing reports whether a Socket may still accept although Close was called.
func (g *Group) Closing() bool { return len(g.late.list()) > 0 }

// Wait waits until Closing is false; until ctx ends, and then returns its error; or until the
// workers have stopped, with sched.ErrClosed.
func (g *Group) Wait(ctx context.Context) error {
	for all := g.late.list(); len(all) > 0; all = g.late.list() {
		for _, s := range all {
			if err := s.Wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish closes the remaining Sockets, once the workers have stopped.
func (g *Group) Finish() {
	for _, s := range g.late.list() {
		s.finish()
	}
}

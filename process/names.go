package process

import "sync"

// names is the registry. A name belongs to a process until the process ends or Unregister.
//
// A process's lock is taken while the registry's is held, never the other way around. Both are held
// while a name is added, so that a process which ends sees all of its names. An end counts from the
// moment at which the PID no longer finds the process. The names of such a process count as free,
// although it has not removed them yet.
type names struct {
	mu sync.RWMutex
	m  map[string]owner
}

// An owner is the process that has a name.
type owner struct {
	*proc
	at int // the index of the name in the process's names
}

// Register gives a process a name; it may have several. The error is ErrNameTaken if another
// process has the name, or ErrNoProcess. The name is free again when the process has ended, before
// monitors of the process learn of its end.
func (s *System) Register(name string, pid PID) error {
	p := s.table.get(pid)
	if p == nil {
		return ErrNoProcess
	}
	s.names.mu.Lock()
	defer s.names.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || !s.lives(p) {
		return ErrNoProcess
	}
	switch old := s.names.m[name].proc; {
	case old == p:
		return nil
	case old != nil && s.lives(old):
		return ErrNameTaken
	}
	if s.names.m == nil {
		s.names.m = make(map[string]owner)
	}
	x := p.more()
	s.names.m[name] = owner{p, len(x.names)}
	x.names = append(x.names, name)
	return nil
}

// Unregister frees a name, and reports whether a process had it.
func (s *System) Unregister(name string) bool {
	s.names.mu.Lock()
	defer s.names.mu.Unlock()
	old := s.names.m[name]
	if old.proc == nil {
		return false
	}
	delete(s.names.m, name)
	old.mu.Lock()
	defer old.mu.Unlock()
	if x := old.extras; x != nil {
		var moved string
		if x.names, moved = without(x.names, old.at); s.names.m[moved].proc == old.proc {
			s.names.m[moved] = old // in its place
		}
	}
	return s.lives(old.proc)
}

// lives reports whether the PID of a process still finds it.
func (s *System) lives(p *proc) bool { return s.table.get(p.pid) == p }

// Whereis is the process that has the name; false: none has.
func (s *System) Whereis(name string) (PID, bool) {
	s.names.mu.RLock()
	defer s.names.mu.RUnlock()
	p := s.names.m[name].proc
	if p == nil || !s.lives(p) {
		return PID{}, false
	}
	return p.pid, true
}

func (n *names) remove(name string, p *proc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.m[name].proc == p {
		delete(n.m, name)
	}
}

package process

import (
	"slices"
	"sync"
)

// names is the registry. A name belongs to a process until the process ends or Unregister.
//
// A process's lock is taken while the registry's is held, never the other way around. Both are held
// while a name is added, so that a process which ends sees all of its names. An end counts from the
// moment at which the PID no longer finds the process. The names of such a process count as free,
// although it has not removed them yet.
type names struct {
	mu sync.RWMutex
	m  map[string]*proc
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
	switch owner := s.names.m[name]; {
	case owner == p:
		return nil
	case owner != nil && s.lives(owner):
		return ErrNameTaken
	}
	if s.names.m == nil {
		s.names.m = make(map[string]*proc)
	}
	s.names.m[name] = p
	x := p.more()
	x.names = append(x.names, name)
	return nil
}

// Unregister frees a name, and reports whether a process had it.
func (s *System) Unregister(name string) bool {
	s.names.mu.Lock()
	defer s.names.mu.Unlock()
	owner := s.names.m[name]
	if owner == nil {
		return false
	}
	delete(s.names.m, name)
	owner.mu.Lock()
	defer owner.mu.Unlock()
	if x := owner.extras; x != nil {
		x.names = slices.DeleteFunc(x.names, func(n string) bool { return n == name })
	}
	return s.lives(owner)
}

// lives reports whether the PID of a process still finds it.
func (s *System) lives(p *proc) bool { return s.table.get(p.pid) == p }

// Whereis is the process that has the name; false: none has.
func (s *System) Whereis(name string) (PID, bool) {
	s.names.mu.RLock()
	defer s.names.mu.RUnlock()
	p := s.names.m[name]
	if p == nil || !s.lives(p) {
		return PID{}, false
	}
	return p.pid, true
}

func (n *names) remove(name string, p *proc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.m[name] == p {
		delete(n.m, name)
	}
}

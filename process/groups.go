package process

import (
	"context"
	"slices"
	"sync"

	"github.com/suiro-go/suiro/sched"
)

// groups are named sets of processes. A process's lock is taken while the lock is held, never the
// other way around.
type groups struct {
	mu    sync.RWMutex
	m     map[string]*group
	spare sync.Pool // of *[]*proc, for Publish
}

type group struct {
	members []*proc
	places  map[*proc]int
}

// JoinGroup adds a process to a group, which it makes if there is none. A process that ends leaves
// its groups. Joining twice has no effect.
func (s *System) JoinGroup(name string, pid PID) error {
	p := s.table.get(pid)
	if p == nil {
		return ErrNoProcess
	}
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || !s.lives(p) { // see names
		return ErrNoProcess
	}
	if s.groups.add(name, p) {
		x := p.more()
		x.groups = append(x.groups, name)
	}
	return nil
}

// LeaveGroup removes a process from a group, and reports whether it was a member.
func (s *System) LeaveGroup(name string, pid PID) bool {
	p := s.table.get(pid)
	if p == nil {
		return false
	}
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.extras; x != nil {
		x.groups = slices.DeleteFunc(x.groups, func(g string) bool { return g == name })
	}
	return s.groups.take(name, p) && s.lives(p)
}

// Members lists the processes of a group, in no order.
func (s *System) Members(name string) (all []PID) {
	s.groups.mu.RLock()
	defer s.groups.mu.RUnlock()
	if g := s.groups.m[name]; g != nil {
		for _, p := range g.members {
			if s.lives(p) {
				all = append(all, p.pid)
			}
		}
	}
	return all
}

// Publish sends one message to all processes of a group, without a copy, and returns how many
// mailboxes have accepted it. The members are those at one moment during the call. Publish does not
// wait: with OverflowWait a full mailbox is skipped. With the context of the task that calls it,
// the wake-ups are cheaper.
func (s *System) Publish(ctx context.Context, name string, message any) (n int) {
	cx := sched.FromContext(ctx)
	list, _ := s.groups.spare.Get().(*[]*proc)
	if list == nil {
		list = new([]*proc)
	}
	s.groups.mu.RLock()
	if g := s.groups.m[name]; g != nil {
		*list = append((*list)[:0], g.members...)
	}
	s.groups.mu.RUnlock()
	for _, p := range *list {
		if s.lives(p) && p.send(cx, message) == nil { // one that has ended may still have its mailbox
			n++
		}
	}
	clear(*list)
	*list = (*list)[:0]
	s.groups.spare.Put(list)
	return n
}

// add reports whether the process was not a member. The lock is held.
func (gs *groups) add(name string, p *proc) bool {
	g := gs.m[name]
	if g == nil {
		if gs.m == nil {
			gs.m = make(map[string]*group)
		}
		g = &group{places: make(map[*proc]int)}
		gs.m[name] = g
	}
	if _, member := g.places[p]; member {
		return false
	}
	g.places[p] = len(g.members)
	g.members = append(g.members, p)
	return true
}

func (gs *groups) remove(name string, p *proc) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.take(name, p)
}

// take removes a process, and reports whether it was a member. The lock is held.
func (gs *groups) take(name string, p *proc) bool {
	g := gs.m[name]
	if g == nil {
		return false
	}
	i, member := g.places[p]
	if !member {
		return false
	}
	last := len(g.members) - 1
	g.members[i] = g.members[last]
	g.places[g.members[i]] = i
	g.members[last] = nil
	g.members = g.members[:last]
	delete(g.places, p)
	if last == 0 {
		delete(gs.m, name)
	}
	return true
}

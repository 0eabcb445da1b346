package process

import (
	"context"
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
	places  map[*proc]place
}

// A place is where a process and its group refer to each other.
type place struct {
	member int // the index in the group's members
	group  int // the index in the process's groups
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
	s.groups.add(name, p)
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
	at, member := s.groups.take(name, p)
	if x := p.extras; member && x != nil {
		var moved string
		if x.groups, moved = without(x.groups, at.group); moved != name {
			places := s.groups.m[moved].places
			places[p] = place{places[p].member, at.group}
		}
	}
	return member && s.lives(p)
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

// add adds a process, unless it is a member. Its lock is held, and that of the groups.
func (gs *groups) add(name string, p *proc) {
	g := gs.m[name]
	if g == nil {
		if gs.m == nil {
			gs.m = make(map[string]*group)
		}
		g = &group{places: make(map[*proc]place)}
		gs.m[name] = g
	}
	if _, member := g.places[p]; member {
		return
	}
	x := p.more()
	g.places[p] = place{len(g.members), len(x.groups)}
	g.members = append(g.members, p)
	x.groups = append(x.groups, name)
}

func (gs *groups) remove(name string, p *proc) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.take(name, p)
}

// take removes a process, and returns its place if it was a member. The lock is held.
func (gs *groups) take(name string, p *proc) (at place, member bool) {
	g := gs.m[name]
	if g == nil {
		return at, false
	}
	if at, member = g.places[p]; !member {
		return at, false
	}
	last := len(g.members) - 1
	other := g.members[last]
	g.members[at.member] = other
	g.places[other] = place{at.member, g.places[other].group}
	g.members[last] = nil
	g.members = g.members[:last]
	delete(g.places, p)
	if last == 0 {
		delete(gs.m, name)
	}
	return at, true
}

// without takes the i-th name out. The last one, which it returns, takes that place.
func without(names []string, i int) (rest []string, moved string) {
	last := len(names) - 1
	moved = names[last]
	names[i], names[last] = moved, ""
	return names[:last], moved
}

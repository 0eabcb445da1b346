package process

import "github.com/suiro-go/suiro/sched"

// finish ends the process. It runs in the process's task. From here on nothing enters the mailbox.
// The messages in it go to Config.Dropped. All is done even if a function of the user calls
// runtime.Goexit meanwhile.
func (p *proc) finish(reason error) {
	if p.finished { // a run that has not returned is followed by another one
		return
	}
	p.finished = true
	if reason == sched.ErrPending { // as the result of a future it would mean that the future is not done
		reason = sched.ErrPendingResult
	}
	s := p.sys
	s.table.remove(p) // first: a goroutine that sees Complete also sees that the PID finds nothing
	p.state.Finish()
	p.lockMail()
	p.append(p.mailbox.Close())
	left := p.pending
	p.pending, p.latest = nil, nil
	p.dropAnswers()
	p.unlockMail()
	p.mu.Lock()
	x := p.extras
	senders := p.callAll()
	p.ended, p.extras = true, nil
	p.mu.Unlock()
	defer s.processEnded()
	defer s.table.ended(p.pid)
	if x != nil {
		normal := false
		defer func() { p.settle(x, senders, reason, normal) }()
		defer s.try("an error", func() { normal = isNormal(reason) }) // it may call methods of the user's error
	}
	p.dropAll(left)
}

// dropAll gives up a list of events. If Config.Dropped calls runtime.Goexit, the rest is given up
// all the same.
func (p *proc) dropAll(n *node) {
	defer func() {
		if n != nil {
			p.dropAll(n)
		}
	}()
	for n != nil {
		of := n
		n = n.Next
		ev := eventOf(of)
		p.sys.free(of)
		p.sys.drop(p.pid, ev, ErrNoProcess)
	}
}

// settle tells all that a process was connected with. senders have waited for room.
func (p *proc) settle(x *extras, senders []sched.Waker, reason error, normal bool) {
	s := p.sys
	defer p.tell(x.watchers, reason)
	defer s.stopAll(x.monitors)
	if x.done != nil && !x.canceled {
		close(x.done)
	}
	for _, name := range x.names {
		s.names.remove(name, p)
	}
	for _, group := range x.groups {
		s.groups.remove(group, p)
	}
	for _, w := range senders {
		w.Wake()
	}
	for pid := range x.links {
		if q := s.table.get(pid); q != nil {
			q.linkedEnded(p.pid, reason, normal)
		}
	}
}

// stopAll stops monitors. If a Remote's function calls runtime.Goexit, the others are stopped all
// the same.
func (s *System) stopAll(all map[uint64]*monitor) {
	defer func() {
		if len(all) > 0 {
			s.stopAll(all)
		}
	}()
	for tag, m := range all {
		delete(all, tag)
		s.try("a Remote", m.stop)
	}
}

// tell tells watchers that the process has ended. If one calls runtime.Goexit, the others are told
// all the same.
func (p *proc) tell(all map[watcher]struct{}, reason error) {
	defer func() {
		if len(all) > 0 {
			p.tell(all, reason)
		}
	}()
	for w := range all {
		delete(all, w)
		w.processEnded(p.pid, reason)
	}
}

// watch adds a watcher. false: the process has ended.
func (p *proc) watch(w watcher) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	x := p.more()
	if x.watchers == nil {
		x.watchers = make(map[watcher]struct{})
	}
	x.watchers[w] = struct{}{}
	return true
}

// unwatch removes a watcher.
func (p *proc) unwatch(w watcher) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.extras != nil {
		delete(p.extras.watchers, w)
	}
}

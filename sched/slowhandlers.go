package sched

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// A SlowHandler is the slow runs of one handler: see Runtime.SlowHandlers.
type SlowHandler struct {
	Handler string        // as in SlowTask
	Runs    uint64        // runs that were reported
	Total   time.Duration // of those runs that have ended
	Max     time.Duration // the longest run, or as much of it as was known at its report
	Peer    string        // of the last report
	Stack   string        // of the longest run that has one, taken while it lasted

	stackOf time.Duration // how long that run was
}

// mostSlowHandlers bounds the handlers that a runtime remembers.
const mostSlowHandlers = 128

// slowHandlers remembers slow runs by handler.
type slowHandlers struct {
	mu  sync.Mutex
	all map[string]*SlowHandler
}

// A slowName is the handler of a reported run that has not ended, and whether it brought the stack.
type slowName struct {
	handler string
	stack   bool
}

// SlowHandlers returns the slow runs since New by handler, those with the longest time first. It
// remembers 128 handlers. Runs that were too short for a report, or that no report noticed, are
// only in Stats. Any goroutine may call it.
func (rt *Runtime) SlowHandlers() []SlowHandler {
	s := &rt.slow.handlers
	s.mu.Lock()
	all := make([]SlowHandler, 0, len(s.all))
	for _, h := range s.all {
		all = append(all, *h)
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b SlowHandler) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Max, a.Max), cmp.Compare(a.Handler, b.Handler))
	})
	return all
}

// reported adds a run that is reported while it lasts. nil: its handler is not remembered.
func (s *slowHandlers) reported(info *SlowTask) *slowName {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.all[info.Handler]
	if h == nil {
		if len(s.all) >= mostSlowHandlers {
			return nil
		}
		if s.all == nil {
			s.all = make(map[string]*SlowHandler)
		}
		h = &SlowHandler{Handler: info.Handler}
		s.all[info.Handler] = h
	}
	h.Runs++
	h.Peer, h.Max = info.Peer, max(h.Max, info.For)
	stack := info.Stack != "" && info.For >= h.stackOf
	if stack {
		h.Stack, h.stackOf = info.Stack, info.For
	}
	return &slowName{info.Handler, stack}
}

// ended adds the duration of a reported run.
func (s *slowHandlers) ended(name slowName, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.all[name.handler]
	h.Total += took
	h.Max = max(h.Max, took)
	if name.stack {
		h.stackOf = max(h.stackOf, took)
	}
}

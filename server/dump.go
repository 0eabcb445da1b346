package server

import (
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/dumptext"
)

// Dump writes a report of what the server does now, for people who look into a hang: its listeners,
// tasks and state, and then what Group().Dump writes about connections, workers and stacks.
//
// Dump works while all workers are stuck: it waits only for a moment for locks, and writes "busy"
// for what they guard. The text has no fixed form. It contains addresses of peers. Any goroutine
// may call Dump, and handlers. The error is that of w.
func (s *Server) Dump(w io.Writer) error {
	var text dumptext.Text
	if group := s.dump(&text); group != nil {
		_ = group.Dump(&text)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// dump adds the server itself, and returns its group.
func (s *Server) dump(text *dumptext.Text) *conn.Group {
	if !text.Lock(&s.mu) {
		text.Linef(0, "server %s %s: busy", s.Network, s.Addr)
		return nil
	}
	group, state := s.group, "has not started"
	var addrs []net.Addr
	for l := range s.listeners {
		addrs = append(addrs, l.Addr())
	}
	for l := range s.sockets {
		addrs = append(addrs, l.inner.Addr())
	}
	packets := len(s.packets)
	switch {
	case s.stopping:
		state = "stops, or has stopped"
	case group != nil:
		state = "serves"
	}
	s.mu.Unlock()
	names := make([]string, len(addrs))
	for i, a := range addrs {
		names[i] = a.Network() + " " + a.String()
	}
	slices.Sort(names)
	names = slices.Compact(names) // each worker may have a socket of its own
	text.Linef(0, "server %s: %s; listens on [%s], packet sockets %d", s.Addr, state, strings.Join(names, ", "), packets)
	text.Linef(1, "tasks of Tasks: %d; calls to resolve names: %d wait, %d goroutines, %d of them idle", s.scope.Len(), resolving.Pending(), resolving.ThreadCount(), resolving.IdleCount())
	return group
}

// started are the servers of this process that have started and have not ended.
var started struct {
	mu  sync.Mutex
	all map[*Server]bool
}

func noteStart(s *Server) {
	started.mu.Lock()
	defer started.mu.Unlock()
	if started.all == nil {
		started.all = make(map[*Server]bool)
	}
	started.all[s] = true
}

func noteEnd(s *Server) {
	started.mu.Lock()
	defer started.mu.Unlock()
	delete(started.all, s)
}

// DumpAll writes the reports of all servers in this process that have started and have not ended,
// as Server.Dump does. Servers on the same group come with one report of that group. SUIRO_DUMP
// writes the same at a signal. Any goroutine may call it. The errors are those of w.
func DumpAll(w io.Writer) error {
	started.mu.Lock()
	all := slices.Collect(maps.Keys(started.all))
	started.mu.Unlock()
	var text dumptext.Text
	groups := make(map[*conn.Group]bool)
	for _, s := range all {
		if group := s.dump(&text); group != nil {
			groups[group] = true
		}
	}
	_, err := w.Write(text.Bytes())
	for group := range groups {
		err = errors.Join(err, group.Dump(w))
	}
	return err
}

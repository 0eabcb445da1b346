package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

// Tasks returns the scope of the server's tasks. They are for work that outlasts the call of a
// handler, for example to write a client's data to a database. Handlers, sequential functions and
// goroutines may start tasks there, stackful and stackless ones:
//
//	s.Tasks().Go(c.Group().Runtime(), flush) // in a method of a Handler
//	s.Tasks().Go(cx, flush)                  // in a sequential function, or in another task
//
// Shutdown cancels the scope's token first (sched.Context.Draining in the tasks). It waits for the
// tasks after the accepted connections have ended, and aborts the remaining ones when its ctx ends.
// Close aborts all at once. Tasks that are started after that are refused: their handles have
// sched.ErrClosed. Each server that is On a group has its own scope, and waits only for its own
// tasks.
func (s *Server) Tasks() *sched.TaskScope { return &s.scope }

// awaitTasks waits until no task is left, or returns ctx's error.
func (s *Server) awaitTasks(ctx context.Context, group *conn.Group) error {
	if s.scope.Len() == 0 {
		return nil // also if ctx has ended
	}
	_, err := sched.Block(ctx, group.Runtime(), s.scope.Wait())
	if errors.Is(err, sched.ErrClosed) && s.scope.Len() == 0 {
		return nil // the workers have stopped, which ends tasks
	}
	return err
}

// abortTasks aborts the tasks that are left, and returns their names as text.
func (s *Server) abortTasks() (left string) {
	names := s.scope.Names()
	s.scope.Close()
	return listed(names)
}

// withTasks returns an error that names the remaining tasks.
func withTasks(err error, left string) error {
	if err == nil || left == "" {
		return err
	}
	return fmt.Errorf("server: tasks that have not ended: %s: %w", left, err)
}

// mostNames bounds the number of function names in an error.
const mostNames = 5

// listed returns names as text: each name once, with its count.
func listed(names []string) string {
	count := make(map[string]int)
	for _, name := range names {
		count[name]++
	}
	var text []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		switch n := count[name]; {
		case len(text) == mostNames:
			return strings.Join(text, ", ") + ", …"
		case n > 1:
			text = append(text, fmt.Sprintf("%d of %s", n, name))
		default:
			text = append(text, name)
		}
	}
	return strings.Join(text, ", ")
}

// awaitAborted waits for aborted tasks, for as long as a handler may take. It is for a group that
// goes on: otherwise the end of the workers ends tasks.
func (s *Server) awaitAborted(group *conn.Group) {
	ctx, cancel := context.WithTimeout(context.Background(), stuckAfter)
	defer cancel()
	_ = s.awaitTasks(ctx, group) // the error of Shutdown names the remaining tasks
}

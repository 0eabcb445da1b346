package conn

import (
	"io"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/sched"
)

// WriteTrace writes the runtime's events (see sched.Config.Events) as JSON that Perfetto and Chrome
// draw: see sched.WriteTrace. Runs of open connections have the name of their handler and the
// address of their peer. It takes one lock for each connection. Any goroutine may call it.
func (g *Group) WriteTrace(w io.Writer) error {
	names := make(map[uint64]string)
	for e := range g.core.Engine.Table.All() {
		if c := core.ConnOf(e); c != nil {
			names[c.Task.EventID()] = core.NameOf(c.Traffic().Handler) + " " + c.Remote().String()
		}
	}
	return sched.WriteTrace(w, g.Runtime().Events(), func(task uint64) string { return names[task] })
}

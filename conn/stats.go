package conn

import (
	"time"

	"github.com/suiro-go/suiro/sched"
)

// Stats are a group's counts since NewGroup.
type Stats struct {
	// HandlerErrors are the errors that handlers returned and that ended a connection, a packet
	// socket or a session of one. Each is logged at debug level.
	HandlerErrors uint64

	// HandlerPanics are the panics of handlers. Each is logged at error level.
	HandlerPanics uint64

	// SlowPolls are the runs of tasks that lasted for sched.Config.SlowTask or longer: those of
	// handlers, and of all other tasks of the group's runtime. SlowPollTimes has them by their
	// durations, see sched.WorkerStats, and MaxPoll is the longest. Runs that last still are none.
	SlowPolls     uint64
	SlowPollTimes [sched.SlowPollRanges]uint64
	MaxPoll       time.Duration
}

// Stats is a snapshot. Any goroutine may call it.
func (g *Group) Stats() Stats {
	all := g.core.Runtime.Stats().Total
	return Stats{
		HandlerErrors: g.core.Engine.HandlerErrors(), HandlerPanics: g.core.Engine.HandlerPanics(),
		SlowPolls: all.SlowPolls, SlowPollTimes: all.SlowPollTimes, MaxPoll: all.MaxPoll,
	}
}

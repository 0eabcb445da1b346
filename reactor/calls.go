package reactor

import "github.com/suiro-go/suiro/internal/faults"

// Calls are system calls on sockets that their caller makes itself, beside the operations of a
// Reactor. In tests they fail as a plan says (internal/faults). A Calls may be copied, and any
// goroutine may use it.
//
// A call and an operation of the same direction must not be under way on a socket at a time. A
// Watch is no such operation.
type Calls struct{ faults *faults.Plan }

// NewCalls makes the calls that belong to the reactors of a configuration.
func NewCalls(cfg Config) Calls { return Calls{cfg.faults} }

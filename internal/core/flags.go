package core

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/suiro-go/suiro/internal/receive"
)

// Flags are how far a connection's life and its output have come.
type Flags uint16

const (
	Opened           Flags = 1 << iota // OnOpen has been called
	dialed                             // it is to be connected before all else
	connecting                         // a Connect is in flight
	WriteClosed                        // CloseWrite was called: flush, FIN
	overdue                            // the write deadline has passed: writes fail
	Closing                            // Close was called: flush, FIN, wait for the peer's
	Finished                           // our FIN was sent, or a reset will take its place
	Broken                             // nothing more is sent or received: tear down
	Reset                              // the peer is to see a reset
	consumed                           // the handler is a consumer
	Drained                            // OnDrain has been called
	Outbound                           // it was dialed
	NonblockingClose                   // closing its descriptor does not wait for anything
	boundPort                          // its user has chosen the local port
	SendFailed                         // nothing more is sent, and received bytes are still delivered
)

func (c *Conn) Is(f Flags) bool { return c.flags&f != 0 }

func (c *Conn) Set(f Flags) { c.flags |= f }

func (c *Conn) clear(f Flags) { c.flags &^= f }

// ReadFlags are how far a connection's input has come, and the reasons why it pauses. Behind them
// lies the receive.State, which says who receives: an idle connection needs both.
type ReadFlags uint16

const (
	receiving  ReadFlags = 1 << iota // a Recv is in flight
	polling                          // a Readable is in flight, instead of a Recv
	stopping                         // a Cancel is in flight for the Recv, Readable or Connect
	Paused                           // too much is queued: OnData waits for LowWater
	starved                          // MaxMemory is near: OnData waits until there is less
	UserPaused                       // PauseRead was called: OnData waits for ResumeRead
	Backed                           // too much waits at the other end of a splice
	Unoffered                        // bytes have arrived that the handler was not offered
	ReadClosed                       // CloseRead was called: received bytes are dropped
	Ended                            // the peer's FIN was received
	EndSeen                          // and OnEOF called
)

// StateShift is how many bits of ReadFlags lie below the state.
const StateShift = 11

// TaskReads is the bit of the state that is set while the task receives itself.
const TaskReads = ReadFlags(receive.TaskReads) << StateShift

// waiting are the reasons why received bytes are not offered to a handler.
const waiting = Paused | UserPaused | starved | Backed

func (r ReadFlags) Is(f ReadFlags) bool { return r&f != 0 }

func (r *ReadFlags) Set(f ReadFlags) { *r |= f }

func (r *ReadFlags) Clear(f ReadFlags) { *r &^= f }

func (r ReadFlags) State() receive.State { return receive.State(r >> StateShift) }

func (r *ReadFlags) Become(s receive.State) {
	*r = *r&(1<<StateShift-1) | ReadFlags(s)<<StateShift
}

// The names of all flags, for reports.
var (
	flagNames = [...]string{"opened", "dialed", "connecting", "writeClosed", "overdue", "closing", "finished", "broken",
		"reset", "consumed", "drained", "outbound", "nonblockingClose", "boundPort", "sendFailed"}
	readFlagNames = [...]string{"receiving", "polling", "stopping", "paused", "starved", "userPaused", "backed", "unoffered",
		"readClosed", "ended", "endSeen"}
)

// String is the names of the flags that are set, as in opened|closing. One that has no name is
// the number of its bit.
func (f Flags) String() string { return flagString(uint(f), flagNames[:]) }

// String is the names of the flags that are set and the state, as in paused|readClosed (task 1).
func (r ReadFlags) String() string {
	names := flagString(uint(r&(1<<StateShift-1)), readFlagNames[:])
	if s := r.State(); s != 0 {
		names += " (" + s.String() + ")"
	}
	return names
}

func flagString(set uint, names []string) string {
	var all []string
	for ; set != 0; set &= set - 1 {
		if bit := bits.TrailingZeros(set); bit < len(names) {
			all = append(all, names[bit])
		} else {
			all = append(all, "bit "+strconv.Itoa(bit))
		}
	}
	return strings.Join(all, "|")
}

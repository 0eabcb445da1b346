package conn

import (
	"math/bits"
	"strconv"
	"strings"
)

// flags are how far a connection's life and its output have come.
type flags uint16

const (
	opened     flags = 1 << iota // OnOpen has been called
	dialled                      // it is to be connected before all else
	connecting                   // a Connect is in flight
	mute                         // CloseWrite was called: flush, FIN
	overdue                      // the write deadline has passed: writes fail
	closing                      // Close was called: flush, FIN, wait for the peer's
	finished                     // our FIN was sent
	broken                       // nothing more is sent or received: tear down
	reset                        // the peer is to see a reset
	awaiting                     // a Writable is in flight, and no Send may be
	consumed                     // the handler is a consumer
	drained                      // OnDrain has been called
	outbound                     // it was dialed
	prompt                       // closing its descriptor does not wait for anything
)

func (c *Conn) is(f flags) bool { return c.flags&f != 0 }

func (c *Conn) set(f flags) { c.flags |= f }

func (c *Conn) clear(f flags) { c.flags &^= f }

// readFlags are how far a connection's input has come, what holds it back, and how it is received.
type readFlags uint16

const (
	receiving readFlags = 1 << iota // a Recv is in flight
	polling                         // a Readable is in flight, instead of a Recv
	stopping                        // a Cancel is in flight for the Recv, Readable or Connect
	direct                          // the task receives itself, see readNow and bulk
	much                            // much came the last time
	ample                           // and not all of it, perhaps, came at once
	paused                          // too much is queued: OnData waits for LowWater
	starved                         // MaxMemory is near: OnData waits until there is less
	held                            // PauseRead was called: OnData waits for ResumeRead
	backed                          // too much waits at the other end of a splice
	unseen                          // bytes came in meanwhile
	deaf                            // CloseRead was called: received bytes are dropped
	ended                           // the peer's FIN was received
	endSeen                         // and OnEOF called
)

// waiting are the reasons why received bytes are not offered to a handler.
const waiting = paused | held | starved | backed

func (r readFlags) is(f readFlags) bool { return r&f != 0 }

func (r *readFlags) set(f readFlags) { *r |= f }

func (r *readFlags) clear(f readFlags) { *r &^= f }

// The names of all flags, for reports.
var (
	flagNames = [...]string{"opened", "dialled", "connecting", "mute", "overdue", "closing", "finished", "broken",
		"reset", "awaiting", "consumed", "drained", "outbound", "prompt"}
	readFlagNames = [...]string{"receiving", "polling", "stopping", "direct", "much", "ample", "paused", "starved",
		"held", "backed", "unseen", "deaf", "ended", "endSeen"}
)

// String is the names of the flags that are set, as in opened|closing. One that has no name is
// the number of its bit.
func (f flags) String() string { return flagString(uint(f), flagNames[:]) }

// String is the names of the flags that are set, as in paused|deaf.
func (r readFlags) String() string { return flagString(uint(r), readFlagNames[:]) }

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

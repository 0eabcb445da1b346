package receive

import "strconv"

// A Receiver takes the bytes of a connection out of the kernel.
type Receiver uint8

const (
	Reactor Receiver = iota // into its own buffers
	Task                    // the connection's task, into memory
	Pipe                    // the connection's task, into a pipe of the kernel by splice(2)
)

// A Policy says when a connection's receiver changes, and how large its reads are. Many connections
// share one; it does not change while they do. In the zero Policy the reactor always receives.
type Policy struct {
	Bulk Receiver // who receives while much arrives

	Much int // bytes of a run: so many, or more, are much
	Runs int // the task receives after this many runs with much, less the runs with little

	Enough int  // bytes of a read: fewer are little
	Reads  int  // the reactor receives again after this many reads in a row with little
	Vain   bool // a read that finds nothing is one with little; otherwise it does not count

	First int // the size of a read, in bytes
	Most  int // the size of a read after one that filled its room, in bytes
}

// MaxCount is the most that Runs and Reads may be.
const MaxCount = 1 << countBits

// A State is what a Policy must know of one connection, in the low StateBits bits. In the zero
// State the reactor receives, and nothing has arrived.
type State uint8

const (
	countBits       = 3
	count     State = 1<<countBits - 1
	// TaskReads is set while the task receives: count is then its last reads with little, else the
	// runs with much.
	TaskReads State = 1 << countBits
	full      State = 1 << (countBits + 1) // the last large read filled its room: there may be more

	// StateBits is how many bits a State needs.
	StateBits = countBits + 2
)

// String is for reports, as in "task 3 full": the task receives, its last three reads got little,
// and a read before filled its room.
func (s State) String() string {
	words := strconv.Itoa(int(s & count))
	if s&TaskReads != 0 {
		words = "task " + words
	}
	if s&full != 0 {
		words += " full"
	}
	return words
}

// Receiver is who receives in state s.
func (p *Policy) Receiver(s State) Receiver {
	if s&TaskReads == 0 {
		return Reactor
	}
	return p.Bulk
}

// Ran notes a run of the task to which the reactor brought that many bytes. It reports whether the
// task should receive from now on. If nothing prevents that, the caller goes on with Begin.
func (p *Policy) Ran(s State, came int) (next State, ripe bool) {
	switch {
	case came == 0 || s&TaskReads != 0 || p.Bulk == Reactor:
	case came < p.Much:
		if s&count > 0 {
			s--
		}
	case int(s&count)+1 < p.Runs:
		s++
	default:
		ripe = true
	}
	return s, ripe
}

// Begin is the state in which the task receives, and has not read yet.
func Begin() State { return TaskReads }

// Read notes that the task has read n bytes into that much room, which is more than 0.
func (p *Policy) Read(s State, n, room int) State {
	switch {
	case s&TaskReads == 0:
		return s
	case n < p.Enough:
		return p.little(s)
	case n == room:
		s |= full
	}
	return s &^ count
}

// InVain notes that the task has found nothing, although the socket was reported ready.
func (p *Policy) InVain(s State) State {
	if s&TaskReads == 0 || !p.Vain {
		return s
	}
	return p.little(s)
}

// little notes a read with little.
func (p *Policy) little(s State) State {
	if int(s&count)+1 >= p.Reads {
		return 0
	}
	return s + 1
}

// Size is how large the task's next read may be, in bytes.
func (p *Policy) Size(s State) int {
	if s&full != 0 {
		return p.Most
	}
	return p.First
}

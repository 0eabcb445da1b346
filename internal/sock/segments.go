package sock

// The kernel ends each call's last segment where the call ends: it does not wait for the next
// call to fill it. Where segments are large (65,483 bytes on the loopback interface), a small one
// costs nearly as much as a full one, to the peer as well. So large amounts are sent, and
// received to be passed on, in calls of whole segments.
//
// Several calls are better than one: at the end of each the kernel deals with what the peer has
// acknowledged meanwhile. Then a congestion control that paces (BBR) sends at once what it would
// otherwise hold back and send by timers.
//
// go run ./bench -workloads stream measures it: half of the CPU time of sends of 1 MiB at once.

// CallSize is the most that one call sends if there is more.
const CallSize = 512 << 10

// Whole returns the part of n that fills whole segments of the socket's path. It returns n if the
// size of a segment is unknown, or larger than n.
func Whole(fd, n int) int { return whole(n, SegmentSize(fd)) }

func whole(n, segment int) int {
	if segment > 0 && segment <= n {
		return n - n%segment
	}
	return n
}

// Calls cuts two pieces of memory, which are to be sent as one, into calls of whole segments.
// While More reports true, the caller sends First and Second, and says how much the socket took.
type Calls struct {
	First, Second []byte // of the next call
	rest1, rest2  []byte // from there on, that call included
	size          int    // of a call
}

// CallsOf are the calls that send first and then second by a socket.
func CallsOf(fd int, first, second []byte) Calls {
	c := Calls{rest1: first, rest2: second, size: len(first) + len(second)}
	if c.size > CallSize {
		c.size = Whole(fd, CallSize)
	}
	c.cut()
	return c
}

func (c *Calls) cut() {
	k := min(c.size, len(c.rest1))
	c.First, c.Second = c.rest1[:k], c.rest2[:min(c.size-k, len(c.rest2))]
}

// More reports whether there is another call to make.
func (c *Calls) More() bool { return len(c.First)+len(c.Second) > 0 }

// Took notes how much of the call the socket took: if that is not all, the call was the last.
func (c *Calls) Took(n int) {
	if n < len(c.First)+len(c.Second) {
		*c = Calls{}
		return
	}
	c.rest1, c.rest2 = c.rest1[len(c.First):], c.rest2[len(c.Second):]
	c.cut()
}

package conn

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/sock"
)

// What is sent in one call ends in a segment of its own, whatever is left for that one: the kernel does not
// wait for the next call to fill it. Where segments are large, as the 65,483 bytes of the loopback interface's are, a
// small one costs nearly as much as a full one, to the peer too; so many bytes are sent, and received for who
// passes them on, in calls of whole segments. In calls rather than one, since each ends with what the peer has
// acknowledged meanwhile being dealt with: what of a mebibyte a congestion control that paces (BBR) would hold back and send by timers
// leaves at once then.
//
// go run ./bench -workloads stream measures it: 0.5 of the CPU time of sends of 1 MiB at once.

// callSize is the most that is sent at once where it is not all.
const callSize = 512 << 10

// whole is n less what is no whole segment on the socket's way; n if that is unknown, or no segment.
func whole(fd, n int) int {
	if segment := sock.SegmentSize(fd); segment > 0 && segment <= n {
		return n - n%segment
	}
	return n
}

// sendNow sends what the socket takes of first and second, as reactor.Config.TrySend does. An error may come behind some
// bytes.
func (g *Group) sendNow(fd int, first, second []byte) (sent int, errno syscall.Errno) {
	left := len(first) + len(second)
	call := left
	if left > callSize {
		call = whole(fd, callSize)
	}
	for left > 0 {
		n := min(call, left)
		k := min(n, len(first))
		took, errno := g.cfg.Reactor.TrySend(fd, first[:k], second[:n-k])
		if errno != 0 {
			if sent > 0 && passes(errno) {
				errno = 0
			}
			return sent, errno
		}
		sent += took
		if took < n {
			break
		}
		first, second, left = first[k:], second[n-k:], left-n
	}
	return sent, 0
}

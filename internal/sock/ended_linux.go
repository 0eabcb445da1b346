package sock

import "golang.org/x/sys/unix"

// A Look asks for what a receive of many connections may have missed, by one call: their ends, and
// an urgent byte that TCP's reader has not passed. It takes nothing from the sockets, their errors
// either. The zero Look asks for none.
type Look struct {
	asks  []unix.PollFd
	ended []int
}

// Add adds a connection to the next Ended, which checks whether the peer has reset it. With eof it
// also checks whether the peer has closed its sending direction, without it for an urgent byte.
func (l *Look) Add(fd int, eof bool) {
	ask := unix.PollFd{Fd: int32(fd), Events: unix.POLLPRI} // errors and hang-ups are reported unasked
	if eof {
		ask.Events = unix.POLLRDHUP
	}
	l.asks = append(l.asks, ask)
}

// Ended returns the connections that have ended or have an urgent byte, by the order in which they
// were added, from 0. It forgets them all, and the result is valid until the next Ended. With an
// error nothing is known of them.
func (l *Look) Ended() ([]int, error) {
	if len(l.asks) == 0 {
		return nil, nil
	}
	n, err := unix.Poll(l.asks, 0)
	if err == unix.EINTR { // a signal has come, and none of them has ended
		n, err = 0, nil
	}
	l.ended = l.ended[:0] // n is -1 with an error
	for i := 0; len(l.ended) < n; i++ {
		if l.asks[i].Revents != 0 {
			l.ended = append(l.ended, i)
		}
	}
	l.asks = l.asks[:0]
	return l.ended, err
}

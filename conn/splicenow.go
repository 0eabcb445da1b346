package conn

import "github.com/suiro-go/suiro/internal/core"

// passNow sends bytes that arrived on c by the other end's connection, without a run of that one's
// task. It returns how much of p it has dealt with.
//
// The order is kept. Only this task hands anything over to that end, and canPass has said that all
// of it has gone to that connection's inbox. So only bytes that the other end's handler writes
// itself can come in between, and those have no fixed place. An error is left for that end's task.
func (r *relay) passNow(c *core.Conn, to *end, p []byte) int {
	n, err := (*core.Outlet)(to.conn).Pass(c.Driver, p)
	if err != nil {
		r.refused(c, to, err)
	}
	return n
}

// PassOn implements core.Passer. It counts the bytes apart, since the inbox does not.
func (r *relay) PassOn(c *core.Conn, p []byte) int {
	to := r.there()
	if !to.open.Load() {
		return 0
	}
	n := r.passNow(c, to, p)
	to.passed.Add(uint64(n))
	return n
}

// Passed implements core.Passer.
func (r *relay) Passed() uint64 { return r.there().passed.Load() }

// refused makes the other connection end.
func (r *relay) refused(c *core.Conn, to *end, err error) {
	r.s.mu.Lock()
	to.failed = err
	r.s.unlock()
	to.tell(c)
}

// canPass reports that new bytes may leave at once. The mutex is held; without it, open says so.
func (e *end) canPass() bool {
	return e.idle && e.plain && !e.eof && e.waiting() == 0 && e.state == endOpen
}

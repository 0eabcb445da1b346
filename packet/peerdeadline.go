package packet

import (
	"net"
	"time"
)

// SetDeadline sets the deadlines of receives, including those that wait, and of sends. The zero
// time is no deadline. After a deadline all calls fail until another one is set. Their error is a
// *net.OpError that matches os.ErrDeadlineExceeded. The session goes on. When the session has
// ended, SetDeadline returns an error that matches net.ErrClosed.
func (p *Peer) SetDeadline(t time.Time) error {
	if err := p.SetReadDeadline(t); err != nil {
		return err
	}
	return p.SetWriteDeadline(t)
}

// SetReadDeadline is SetDeadline for receives.
func (p *Peer) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return p.conn.opError("set", p.addr, net.ErrClosed)
	}
	p.readBy = p.at(t)
	for n := p.waits.Front(); n != nil; n = p.waits.Front() { // each of them waits again, with the new deadline
		p.waits.Remove(n)
		n.Value.waker.Wake()
	}
	return nil
}

// SetWriteDeadline is SetDeadline for sends.
func (p *Peer) SetWriteDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return p.conn.opError("set", p.addr, net.ErrClosed)
	}
	p.writeBy.Store(int64(p.at(t)))
	return nil
}

// at converts a deadline to a time of the runtime; 0: none.
func (p *Peer) at(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(1, p.group.RT.At(t))
}

package conn

import "net"

// Dial starts connecting to a *net.TCPAddr or *net.UnixAddr and returns at once. When the
// connection is established, h.OnOpen is called; if that fails, h.OnClose alone, with the error.
// Closing the handle meanwhile ends the attempt, also with an OnClose. Dial returns an error,
// without a call of h, if a socket cannot be made or a runtime cannot start.
//
// Errors are *net.OpError with Op "dial". After Stop and Close they match net.ErrClosed. Close,
// which calls no OnClose, ends the waits for a Socket or Stream that is being dialed with such an
// error.
func (g *Group) Dial(addr net.Addr, h Handler) (Handle, error) {
	return g.DialWith(&DialConfig{Addrs: []net.Addr{addr}}, h)
}

// Dial is Group.Dial for a connection that exchanges bytes with this one, as in a proxy. It begins
// on the worker where this one receives, in spite of Config.Placement, so that those bytes stay
// there. It begins when the method of this one's handler that calls Dial returns. So nothing
// arrives before that method has called Splice.
func (c *Conn) Dial(addr net.Addr, h Handler) (Handle, error) {
	return c.Group().DialWith(&DialConfig{Addrs: []net.Addr{addr}, Near: c}, h)
}

// DialWith is Dial with more to say, and to one of several addresses. cfg is not
// needed when it has returned. With several addresses, Find or Attempt, a socket that cannot be
// made is a failed attempt like any other.
func (g *Group) DialWith(cfg *DialConfig, h Handler) (Handle, error) {
	s := cfg.settings()
	c, err := g.core.DialWith(&s, h)
	return Handle{c}, err
}

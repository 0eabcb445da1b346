package conn

import (
	"net"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/core"
)

// A DialConfig says how Group.DialWith connects. Zero means default, but there must be
// Addrs or Find.
type DialConfig struct {
	// Addrs are what to connect to, each a *net.TCPAddr or *net.UnixAddr: with
	// several, the connection is to whichever answers first. They are tried in this
	// order, each Delay after the one before, or at once when all before have failed.
	Addrs []net.Addr

	// Find, if not nil, finds Addrs. It is called once, on a worker, and must not block. It calls
	// found once, from any goroutine, with the addresses or with an error. The connection ends with
	// that error, inside a *net.OpError if it is none. If cancel is not nil, it is called on a
	// worker when the answer has come or is of no use.
	Find func(found func([]net.Addr, error)) (cancel func())

	// Target is the address of RemoteAddr, and in errors, until one of several addresses is
	// connected. nil: the first of Addrs. Without Addrs it must be set.
	Target net.Addr

	// Delay is the time between attempts while none has failed, as in RFC 8305. 0: 250 ms. At least
	// 10 ms. Negative: an attempt begins when the one before has failed. It then gets an equal part
	// of the rest of Timeout, but at least 2 s if that much is left.
	Delay time.Duration

	// Timeout bounds all of it. 0: Config.ConnectTimeout.
	Timeout time.Duration

	// LocalAddr is the address that sockets are bound to. It must be of the addresses' kind and
	// family; an unspecified IP address (0.0.0.0, ::) is of both. With port 0 the system chooses
	// one when it knows the peer, so that ports are used up per peer (IP_BIND_ADDRESS_NO_PORT).
	// nil: not bound.
	LocalAddr net.Addr

	// Control, if not nil, is called with each socket before it is bound or connected, as
	// net.Dialer.Control is. It is called on a worker; with one address and no Find, on the
	// caller's goroutine.
	Control func(network, address string, raw syscall.RawConn) error

	// Attempt, if not nil, is called when an attempt to connect to an address begins, before its
	// socket is made. ended, if not nil, is called when the attempt has ended. It gets nil if the
	// attempt is the connection, else the reason. The reason matches net.ErrClosed if the attempt
	// was given up. Both are called on a worker, as methods of the handler are, and must not block.
	Attempt func(addr net.Addr) (ended func(error))

	// Preface is sent before anything else. It must not be changed.
	Preface []byte

	// Near makes the connection begin on the worker where another one receives. DialWith must then
	// be called in a method of that one's handler, and begins when that returns. nil: where
	// Config.Placement says.
	Near *Conn
}

// settings are those of the core.
func (cfg *DialConfig) settings() core.DialConfig {
	s := core.DialConfig{
		Addrs: cfg.Addrs, Find: cfg.Find, Target: cfg.Target, Delay: cfg.Delay, Timeout: cfg.Timeout,
		LocalAddr: cfg.LocalAddr, Control: cfg.Control, Attempt: cfg.Attempt, Preface: cfg.Preface,
	}
	if cfg.Near != nil {
		s.Near = &cfg.Near.core
	}
	return s
}

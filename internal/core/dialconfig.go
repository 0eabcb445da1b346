package core

import (
	"net"
	"syscall"
	"time"
)

// A DialConfig is what package conn's DialConfig says.
type DialConfig struct {
	Addrs     []net.Addr
	Find      func(found func([]net.Addr, error)) (cancel func()) // or nil
	Target    net.Addr
	Delay     time.Duration
	Timeout   time.Duration
	LocalAddr net.Addr
	Control   func(network, address string, raw syscall.RawConn) error // or nil
	Attempt   func(addr net.Addr) (ended func(error))                  // or nil
	Preface   []byte
	Near      *Conn // or nil
}

// target is what to name when there is no connection.
func (cfg *DialConfig) target() net.Addr {
	if cfg.Target == nil && len(cfg.Addrs) > 0 {
		return cfg.Addrs[0]
	}
	return cfg.Target
}

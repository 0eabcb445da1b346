//go:build !unix && !windows

package conn

import (
	"errors"
	"net"
)

// No backend runs here yet, so no group can be made and none of these is
// reached; each says so all the same.

var errNoBackend = errors.Join(errors.New("conn: no backend for this platform yet"), errors.ErrUnsupported)

func (c *Conn) accepted() {}

func localAddr(int) net.Addr { return nil }

func listenerFD(net.Listener) (int, error) { return -1, errNoBackend }

func newSocket(net.Addr) (int, error) { return -1, errNoBackend }

func closeFD(int) {}

func shutdownWrite(int) error { return errNoBackend }

func resetOnClose(int) {}

func setNoDelay(int, bool) error { return errNoBackend }

func setReadBuffer(int, int) error { return errNoBackend }

func setWriteBuffer(int, int) error { return errNoBackend }

func setKeepAlive(int, net.KeepAliveConfig) error { return errNoBackend }

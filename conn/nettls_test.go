package conn_test

import (
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// An atLeisure is a connection whose Close may end before the connection below it is closed.
// nettest ends a test when the other side has been notified. crypto/tls closes the connection below
// only after that.
type atLeisure struct {
	net.Conn
	closing sync.Mutex
}

func (c *atLeisure) Close() error {
	c.closing.Lock()
	defer c.closing.Unlock()
	return c.Conn.Close()
}

func (c *atLeisure) await() {
	c.closing.Lock()
	defer c.closing.Unlock()
}

// crypto/tls passes the same tests over Sockets as over package net's connections. These are not
// all tests. crypto/tls keeps the error of a write that was too late for good, so tests that write
// again after one are left out. nettest has no other way to choose than the command line.
func TestTLSOverSocketsPassesWhatItDoesOverNets(t *testing.T) {
	const chosen = "SUIRO_NETTEST_CHOSEN"
	if os.Getenv(chosen) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=2m",
			"-test.run=^"+t.Name()+"$/./^(BasicIO|PingPong|RacyRead|RacyWrite|ReadTimeout|WriteTimeout|CloseTimeout)$")
		cmd.Env = append(os.Environ(), chosen+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	secret := newSecret(t)
	over := func(t *testing.T, l net.Listener, dial func() (net.Conn, error)) {
		nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
			raw1, raw2, stop, err := pair(t, l, dial)
			if err != nil {
				return nil, nil, nil, err
			}
			c1, c2 := &atLeisure{Conn: tls.Server(raw1, secret.server.Config)}, &atLeisure{Conn: tls.Client(raw2, secret.client)}
			shaken := make(chan error, 1)
			go func() { shaken <- c1.Conn.(*tls.Conn).Handshake() }()
			if err = c2.Conn.(*tls.Conn).Handshake(); err == nil {
				err = <-shaken
			}
			return c1, c2, func() { c1.await(); c2.await(); stop() }, err
		})
	}
	t.Run("net", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		over(t, l, func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) })
	})
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2)
		l := f.open("tcp", conn.SocketListenerConfig{})
		over(t, l, func() (net.Conn, error) { return f.DialSocketContext(t.Context(), l.Addr()) })
	})
}

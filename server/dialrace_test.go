package server_test

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

func TestAnIPv6AddressThatSwallowsPacketsIsGivenUpAfterTheDelay(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		six, four := both(t)
		six.Swallow(t)
		l := serveEcho(t, four.Listen(t))
		d := newClient(t, backend, workers, true)
		d.names.hosts["both.test"] = []string{"::1", "127.0.0.1"}
		started := make(chan string, 10)
		d.Control = func(_, addr string, _ syscall.RawConn) error { started <- addr; return nil }
		h := newTold()
		handle, err := d.Start("tcp", at("both.test", l.port()), h)
		require.NoError(t, err)
		require.Equal(t, at("::1", l.port()), conntest.Receive(t, started))
		d.advance(249 * time.Millisecond)
		for range 10 { // rounds of the workers in which nothing happens
			ran := make(chan struct{})
			require.NoError(t, handle.Do(func(*server.Conn) { close(ran) }))
			conntest.Receive(t, ran)
		}
		require.Empty(t, started, "not before the delay")
		d.advance(10 * time.Millisecond)
		require.Equal(t, l.Addr().String(), conntest.Receive(t, started))
		c := conntest.Receive(t, h.opened)
		require.Equal(t, l.Addr().String(), c.RemoteAddr().String())
		require.NoError(t, handle.Send([]byte("hello")))
		h.next(t, "hello")
		require.Empty(t, h.closed, "the loser is nobody's concern")
	})
}

func TestARefusedIPv6AddressIsGivenUpAtOnce(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		six, four := both(t)
		_ = six // nobody listens
		l := serveEcho(t, four.Listen(t))
		d := newClient(t, backend, workers, true) // no time passes
		d.names.hosts["both.test"] = []string{"::1", "127.0.0.1"}
		for _, delay := range []time.Duration{0, time.Hour, -1} {
			d.FallbackDelay = delay
			h := newTold()
			handle, err := d.Start("tcp", at("both.test", l.port()), h)
			require.NoError(t, err)
			conntest.Receive(t, h.opened)
			require.NoError(t, handle.Send([]byte("hello")))
			h.next(t, "hello")
		}
	})
}

func TestAllAttemptsFailAndTheErrorMatchesEach(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		six, _ := both(t)
		d := newClient(t, backend, workers, true)
		d.names.hosts["none.test"] = []string{"::1", "127.0.0.1"}
		refuse := errors.New("refused by Control")
		d.Control = func(network, _ string, _ syscall.RawConn) error {
			if network == "tcp4" {
				return refuse
			}
			return nil
		}
		for _, delay := range []time.Duration{0, -1} {
			d.FallbackDelay = delay
			h := newTold()
			_, err := d.Start("tcp", at("none.test", six.Port()), h)
			require.NoError(t, err)
			err = h.failed(t)
			require.ErrorIs(t, conn.Portable(err), syscall.ECONNREFUSED)
			require.ErrorIs(t, err, refuse)
			require.Contains(t, err.Error(), at("none.test", six.Port()))
			require.Contains(t, err.Error(), at("::1", six.Port()))
			require.Contains(t, err.Error(), at("127.0.0.1", six.Port()))
			require.False(t, err.(net.Error).Timeout())
		}
		// One alone is as it would be without a race.
		h := newTold()
		_, err := d.Start("tcp6", at("none.test", six.Port()), h)
		require.NoError(t, err)
		err = h.failed(t)
		require.ErrorIs(t, conn.Portable(err), syscall.ECONNREFUSED)
		require.Equal(t, at("::1", six.Port()), err.(*net.OpError).Addr.String())
	})
}

// A serial dial gives each address an equal share of the time, but 2 s if there is as much.
func TestASerialDialDividesTheTime(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		six, four := both(t)
		six.Swallow(t)
		l := serveEcho(t, four.Listen(t))
		d := newClient(t, backend, 2, true)
		d.names.hosts["both.test"] = []string{"::1", "127.0.0.1"}
		started := make(chan string, 10)
		d.Control = func(_, addr string, _ syscall.RawConn) error { started <- addr; return nil }
		d.FallbackDelay = -1
		for total, share := range map[time.Duration]time.Duration{10 * time.Second: 5 * time.Second, 3 * time.Second: 2 * time.Second} {
			d.Timeout = total
			h := newTold()
			handle, err := d.Start("tcp", at("both.test", l.port()), h)
			require.NoError(t, err)
			conntest.Receive(t, started)
			d.advance(share - 10*time.Millisecond)
			for range 10 {
				ran := make(chan struct{})
				require.NoError(t, handle.Do(func(*server.Conn) { close(ran) }))
				conntest.Receive(t, ran)
			}
			require.Empty(t, started)
			d.advance(20 * time.Millisecond)
			require.Equal(t, l.Addr().String(), conntest.Receive(t, started))
			conntest.Receive(t, h.opened)
		}
	})
}

func TestAThousandDialsAtOnce(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		six, four := both(t)
		_ = six
		l := serveEcho(t, four.Listen(t))
		d := newClient(t, backend, workers, false)
		d.names.hosts["both.test"] = []string{"::1", "127.0.0.1"}
		n := 1000
		if testing.Short() {
			n = 200
		}
		all := make([]*told, n)
		for i := range all {
			all[i] = newTold()
			handle, err := d.Start("tcp", at("both.test", l.port()), all[i])
			require.NoError(t, err)
			require.NoError(t, handle.Send([]byte("hello")))
		}
		for _, h := range all {
			select {
			case c := <-h.opened:
				h.next(t, "hello")
				require.NoError(t, c.Handle().Close())
			case err := <-h.closed:
				t.Fatal(err)
			case <-time.After(conntest.Patience):
				t.Fatal(conntest.Dump())
			}
		}
		for _, h := range all {
			require.NoError(t, conntest.Receive(t, h.closed))
		}
		require.Equal(t, n, d.names.questions())
	})
}

// The families take turns, beginning with that of the Resolver's first address.
func TestAttemptsTakeTurnsBetweenTheFamilies(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		d := newClient(t, backend, 2, true)
		var order []string
		d.Control = func(_, addr string, _ syscall.RawConn) error {
			order = append(order, addr)
			return errors.New("only to see the order")
		}
		for _, c := range []struct{ resolved, tried []string }{
			{[]string{"2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2", "192.0.2.3"},
				[]string{"2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "192.0.2.3"}},
			{[]string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}, []string{"192.0.2.1", "2001:db8::1", "192.0.2.2"}},
			{[]string{"192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1"}, []string{"192.0.2.1"}},
		} {
			order = nil
			d.names.hosts["many.test"] = c.resolved
			h := newTold()
			_, err := d.Start("tcp", "many.test:80", h)
			require.NoError(t, err)
			h.failed(t)
			for i := range c.tried {
				c.tried[i] = at(c.tried[i], 80)
			}
			require.Equal(t, c.tried, order)
		}
	})
}

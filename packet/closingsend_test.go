package packet_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// A datagram that Handle.Send has accepted before Close is sent. Later ones are refused, from the
// call of Close on. The calls are made while the socket's task runs, so their order is known.
func TestHandleSendIsRefusedOnceTheSocketCloses(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, end := range map[string]func(h packet.Handle, c *packet.Conn) error{
			"Conn.Close":   func(_ packet.Handle, c *packet.Conn) error { return c.Close() },
			"Handle.Close": func(h packet.Handle, _ *packet.Conn) error { return h.Close() },
		} {
			f, lives := packetFixture(t, backend, 1)
			receiver := listenUDP(t, "udp4", "127.0.0.1:0")
			to := receiver.LocalAddr().(*net.UDPAddr).AddrPort()
			closed := make(chan error, 1)
			handle, _ := servePackets(t, f, &funcs{lives: lives, close: func(_ *packet.Conn, err error) { closed <- err }})
			errs := make(chan error, 4)
			require.NoError(t, handle.Do(func(c *packet.Conn) {
				errs <- handle.Send([]byte("before"), to)
				errs <- end(handle, c)
				errs <- handle.Send([]byte("behind"), to)
				errs <- handle.SendFrom([]byte("behind"), handle.LocalAddr().Addr(), to)
			}))
			require.NoError(t, conntest.Receive(t, errs), name)
			require.NoError(t, conntest.Receive(t, errs), name)
			for range 2 {
				require.ErrorIs(t, conntest.Receive(t, errs), net.ErrClosed, name)
			}
			require.NoError(t, conntest.Receive(t, closed), name)
			require.Equal(t, []string{"before"}, arrived(t, receiver), name)
		}
	})
}

// Abort drops datagrams that were accepted before, whether or not the task has seen them. They are
// counted.
func TestDatagramsThatAnAbortDropsAreCounted(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, end := range map[string]func(h packet.Handle, c *packet.Conn) error{
			"Conn.Abort":   func(_ packet.Handle, c *packet.Conn) error { c.Abort(); return nil },
			"Handle.Abort": func(h packet.Handle, _ *packet.Conn) error { return h.Abort() },
		} {
			f, lives := packetFixture(t, backend, 1)
			receiver := listenUDP(t, "udp4", "127.0.0.1:0")
			to := receiver.LocalAddr().(*net.UDPAddr).AddrPort()
			closed := make(chan error, 1)
			handle, _ := servePackets(t, f, &funcs{lives: lives, close: func(_ *packet.Conn, err error) { closed <- err }})
			errs := make(chan error, 5)
			require.NoError(t, handle.Do(func(c *packet.Conn) {
				errs <- c.WriteTo([]byte("written"), to)
				errs <- c.WriteSegments([]byte("segments"), 3, to)
				errs <- handle.Send([]byte("sent"), to)
				errs <- end(handle, c)
				errs <- handle.Send([]byte("behind"), to)
			}))
			for range 4 {
				require.NoError(t, conntest.Receive(t, errs), name)
			}
			require.ErrorIs(t, conntest.Receive(t, errs), net.ErrClosed, name)
			require.ErrorIs(t, conntest.Receive(t, closed), net.ErrClosed, name)
			const all = 5 // "segments" leaves as three
			lost := all - len(arrived(t, receiver))
			require.Positive(t, lost, name)
			dropped := func(why string) float64 { return figure(f, "suiro.dropped_datagrams", "error.type="+why) }
			require.Positive(t, dropped("socket_closed"), name)
			require.EqualValues(t, lost, dropped("socket_closed")+dropped("send_failed"), "%s; a batch in flight may be canceled", name)
		}
	})
}

// arrived returns what a socket has received, up to a last datagram that it sends to itself.
func arrived(t *testing.T, pc *net.UDPConn) (all []string) {
	t.Helper()
	_, err := pc.WriteTo([]byte("last"), pc.LocalAddr())
	require.NoError(t, err)
	require.NoError(t, pc.SetReadDeadline(time.Now().Add(conntest.Patience)))
	b := make([]byte, 16)
	for {
		n, err := pc.Read(b)
		require.NoError(t, err)
		if string(b[:n]) == "last" {
			return all
		}
		all = append(all, string(b[:n]))
	}
}

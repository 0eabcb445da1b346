package packet_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

func TestHandlersErrorsAreLoggedAndCounted(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1, atDebug)
		pc, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(t, err)
		_, err = packet.Listen(f, pc, &funcs{lives: &audit{}, open: func(*packet.Conn) error { return errRefused }})
		require.NoError(t, err)
		log := logOf(f)
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		requireFailures(t, 1, 0, f.Stats())
		require.Equal(t, 1, log.Count("ERROR packet: a handler's error closes a socket that serves all peers local="+pc.LocalAddr().String()+
			" handler=*packet_test.funcs error="+errRefused.Error()), log)
		require.Equal(t, 1, log.Count("DEBUG conn: handler returned an error local="+pc.LocalAddr().String()+" handler=*packet_test.funcs error="+errRefused.Error()), log)
		require.NoError(t, pc.Close())
	})
}

// An error of a session's handler ends the session. It is logged with the peer, and counted.
func TestErrorsOfSessionHandlersAreLoggedAndCounted(t *testing.T) {
	refuse := func(*packet.Session) error { return errRefused }
	accept := func(*packet.Session) error { return nil }
	for name, h := range map[string]sessionFuncs{
		"OnOpen":   {open: refuse},
		"OnPacket": {open: accept, packet: func(*packet.Session, packet.Packet) error { return errRefused }},
		"closing": {open: accept, packet: func(s *packet.Session, _ packet.Packet) error {
			s.Close()
			return errRefused
		}},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				f := newFixture(t, backend, 1, atDebug)
				h.close = func(*packet.Session, error) {}
				handle, at := servePackets(t, f, &packet.Sessions{Handler: h})
				c, err := net.Dial("udp", at.String())
				require.NoError(t, err)
				defer c.Close()
				_, err = c.Write([]byte("x"))
				require.NoError(t, err)
				log := logOf(f)
				said := "DEBUG conn: handler returned an error remote=" + c.LocalAddr().String() +
					" handler=packet_test.sessionFuncs error=" + errRefused.Error()
				conntest.Eventually(t, func() bool { return log.Count(said) == 1 }, log.String)
				requireFailures(t, 1, 0, f.Stats())
				require.NoError(t, handle.Close())
			})
		})
	}
}

// requireFailures compares the counts of the handlers' errors. It ignores slow runs, since
// the machine may cause them.
func requireFailures(t *testing.T, failed, panicked uint64, got conn.Stats, msg ...any) {
	t.Helper()
	require.Equal(t, [2]uint64{failed, panicked}, [2]uint64{got.HandlerErrors, got.HandlerPanics}, msg...)
}

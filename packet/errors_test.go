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
		require.Equal(t, conn.Stats{HandlerErrors: 1}, f.Stats())
		require.Equal(t, 1, log.Count("DEBUG conn: handler returned an error local="+pc.LocalAddr().String()+" handler=*packet_test.funcs error="+errRefused.Error()), log)
		require.NoError(t, pc.Close())
	})
}

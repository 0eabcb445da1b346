package packet_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// A datagram socket that is closing refuses a timer.
func TestAClosingPacketSocketRefusesATimer(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1)
		errs := make(chan error, 2)
		handle, _ := servePackets(t, f, &funcs{packets: echoPackets, lives: lives})
		require.NoError(t, handle.Do(func(c *packet.Conn) {
			errs <- c.SetTimer(time.Now().Add(time.Hour))
			_ = c.Close()
			errs <- c.SetTimer(time.Now().Add(time.Hour))
		}))
		require.NoError(t, conntest.Receive(t, errs))
		requireOpError(t, conntest.Receive(t, errs), "set", net.ErrClosed)
	})
}

package packet_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// The inert socket, which replaces that of a blocked worker, is made before it is needed.
func TestASocketOfAStuckWorkerGivesItsPortBackWithoutDescriptors(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1)
		in, out := make(chan bool), make(chan bool)
		handle, at := servePackets(t, f, &funcs{lives: lives})
		require.NoError(t, handle.Do(func(*packet.Conn) {
			close(in)
			<-out
		}))
		conntest.Receive(t, in)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		restore := conntest.NoDescriptors(t)
		err := f.Stop(over)
		restore()
		require.ErrorIs(t, err, conn.ErrStuck)
		conntest.Eventually(t, func() bool {
			pc, err := net.ListenPacket("udp4", at.String())
			if err == nil {
				_ = pc.Close()
			}
			return err == nil
		}, "the port is in use")
		close(out)
		conntest.Receive(t, f.Runtime().Done())
	})
}

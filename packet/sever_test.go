package packet_test

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/packet"
)

// sever may run while the socket's task closes the descriptor.
func TestASocketIsSeveredWhileItCloses(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		for range 20 {
			closed := make(chan error, 1)
			handle, _ := servePackets(t, f, &funcs{lives: lives, close: func(_ *packet.Conn, err error) { closed <- err }})
			over := make(chan struct{})
			var severing sync.WaitGroup
			severing.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
						engine.Reveal(f).TellAll(engine.Sever)
					}
				}
			})
			if err := handle.Close(); err != nil { // its receive has failed because it was severed
				require.ErrorIs(t, err, net.ErrClosed)
			}
			conntest.Receive(t, closed)
			close(over)
			severing.Wait()
		}
	})
}

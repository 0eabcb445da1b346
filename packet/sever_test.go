package packet_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/packet"
)

// Whatever severs a socket may meet it while its task closes the descriptor.
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
						f.Engine().TellAll(engine.Sever)
					}
				}
			})
			require.NoError(t, handle.Close())
			require.NoError(t, conntest.Receive(t, closed))
			close(over)
			severing.Wait()
		}
	})
}

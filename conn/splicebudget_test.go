package conn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Bytes that a spliced connection has not sent when its peer resets it do not stay counted. The
// peer has finished sending before, so that nothing is being received.
func TestWhatASplicedConnectionOwedIsNotBufferedForEver(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newProxy(t, backend, workers, func(cfg *conn.Config) { cfg.MaxMemory = 1 << 30 })
		for range 2 {
			client, origin := p.pair()
			small(client)
			write(t, client, "x")
			read(t, origin, 1)
			require.NoError(t, client.CloseWrite())
			readEOF(t, origin)
			go func() {
				for err := error(nil); err == nil; {
					_, err = origin.Write(noise)
				}
			}()
			got := make([]byte, 64<<10)
			for read := 0; read < 2<<20; { // that it proves to be a bulk
				n, err := client.Read(got)
				require.NoError(t, err)
				read += n
			}
			conntest.Eventually(t, func() bool { return p.Buffered() > 0 })
			reset(client)
			conntest.Eventually(t, func() bool { return p.Len() == 0 }, p.report)
		}
		conntest.Eventually(t, func() bool { return p.Buffered() == 0 }, func() string { return "it is still buffered" })
	})
}

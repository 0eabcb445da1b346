package packet_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
)

// Datagrams may be lost together with completions. The socket answers later ones.
func TestAPacketSocketOutlivesDroppedCompletions(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		if backend != "io_uring" {
			t.Skip("only io_uring has completions to drop")
		}
		plan := conntest.Faults(t, faults.Rule{Call: faults.Complete, Errno: syscall.EBADR, Every: 20})
		f, lives := packetFixture(t, backend, workers, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
		_, at := servePackets(t, f, &funcs{lives: lives, packets: echoPackets})
		conntest.Each(t, 6, func(int) error {
			c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(at))
			if err != nil {
				return err
			}
			defer c.Close()
			back := make([]byte, 100)
			for i := byte(1); i < 40; {
				want := bytes.Repeat([]byte{i}, len(back))
				if _, err := c.Write(want); err != nil {
					return err
				}
				if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
					return err
				}
				for err == nil && !bytes.Equal(back, want) { // an answer to an earlier datagram may come as well
					_, err = c.Read(back)
				}
				switch {
				case err == nil:
					i++
				case !os.IsTimeout(err):
					return err
				}
				err = nil
			}
			return nil
		})
		plan.Stop()
		c := udpClient(t, at)
		for range 300 { // they need more memory than there is
			exchange(t, c, "as before")
		}
		dropped := uint64(plan.Injected(faults.Complete, syscall.EBADR))
		require.Positive(t, dropped)
		conntest.Eventually(t, func() bool { return f.Dropped() == dropped })
		ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
		defer cancel()
		require.NoError(t, f.Shutdown(ctx))
	})
}

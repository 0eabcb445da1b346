package packet_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// figure adds up the samples of a family that have these labels, each in the form name=value.
func figure(f *fixture, name string, labels ...string) (sum float64) {
	for _, family := range f.Metrics() {
		if family.Name != name {
			continue
		}
		for _, s := range family.Samples {
			have := map[string]bool{}
			for _, l := range s.Labels {
				have[l.Name+"="+l.Value] = true
			}
			all := true
			for _, want := range labels {
				all = all && have[want]
			}
			if all {
				sum += s.Value
			}
		}
	}
	return sum
}

func TestDatagramsThatACallDropsAreCounted(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1, func(c *conn.Config) { c.LowWater, c.HighWater, c.MaxWrite = 1000, 5000, 10_000 })
		to := listenUDP(t, "udp4", "127.0.0.1:0").LocalAddr().(*net.UDPAddr).AddrPort()
		dropped := func(why string) float64 { return figure(f, "suiro.dropped_datagrams", "error.type="+why) }

		handle, _ := servePackets(t, f, &funcs{lives: lives})
		stuck, goOn := make(chan bool), make(chan bool)
		require.NoError(t, handle.Do(func(*packet.Conn) { close(stuck); <-goOn }))
		conntest.Receive(t, stuck)
		for handle.Send(noise[:1000], to) == nil {
		}
		require.ErrorIs(t, handle.Send(nil, to), packet.ErrWriteQueueFull)
		close(goOn)
		require.EqualValues(t, 2, dropped("queue_full"))

		sent := make(chan error, 1)
		_, at := servePackets(t, f, &packet.Sessions{Handler: packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
			_, err := p.Recv(cx, make([]byte, 10))
			if err == nil {
				err = p.Send(make([]byte, 70_000))
			}
			sent <- err
			return nil
		})})
		_, err := udpClient(t, at).Write([]byte("x"))
		require.NoError(t, err)
		require.ErrorIs(t, conntest.Receive(t, sent), syscall.EMSGSIZE)
		require.EqualValues(t, 1, dropped("send_failed"))
		require.EqualValues(t, 2, dropped("queue_full"))
	})
}

//go:build unix

package interop

import (
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/server"
)

// BenchmarkQUIC compares sockets: CPU time of both ends, and wall time. Compare medians of many
// runs:
//
//	go test -run - -bench QUIC -benchtime 1x -count 11 .
func BenchmarkQUIC(b *testing.B) {
	for name, open := range map[string]packets{
		"net": netPackets,
		"suiro": func(t testing.TB) net.PacketConn {
			p, err := server.ListenPacket("udp4", "127.0.0.1:0")
			require.NoError(t, err)
			return p
		},
	} {
		b.Run("bulk/"+name, func(b *testing.B) {
			answer := noise(512 << 10) // 100 MiB in all
			p := newQUICPair(b, open, answers(answer))
			defer p.close()
			measure(b, func() error { return download(b.Context(), p, answer) })
		})
		b.Run("handshakes/"+name, func(b *testing.B) {
			p := newQUICPair(b, open, answers([]byte("hello")))
			defer p.close()
			measure(b, func() error { return shakeHands(b.Context(), p, 1000) })
		})
		b.Run("small/"+name, func(b *testing.B) {
			p := newQUICPair(b, open, answers([]byte("hello")))
			defer p.close()
			var all []*quic.Conn
			for range 1000 {
				c, err := p.dial(b.Context())
				require.NoError(b, err)
				all = append(all, c)
			}
			measure(b, func() error {
				var asking sync.WaitGroup
				for _, c := range all {
					asking.Go(func() {
						for range 10 {
							if err := ask(b.Context(), c, []byte("hello"), []byte("hello")); err != nil {
								b.Error(err)
							}
						}
					})
				}
				asking.Wait()
				return nil
			})
		})
	}
}

// measure reports the CPU time of the process.
func measure(b *testing.B, work func() error) {
	b.ResetTimer()
	from := processCPU()
	for range b.N {
		if err := work(); err != nil {
			b.Error(err)
		}
	}
	b.ReportMetric(float64((processCPU()-from).Milliseconds())/float64(b.N), "cpu-ms/op")
	b.StopTimer()
}

func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

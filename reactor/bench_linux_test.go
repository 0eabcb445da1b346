package reactor_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor"
)

// BenchmarkExchange is a message of 64 bytes that a reactor sends itself: a send, a
// receive, and the wait between them.
func BenchmarkExchange(b *testing.B) {
	for _, name := range reactor.Backends() {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r, err := reactor.Open(reactor.Config{Backend: name})
			if err != nil {
				b.Skip(err)
			}
			defer r.Close()
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
			require.NoError(b, err)
			defer unix.Close(pair[0])
			defer unix.Close(pair[1])
			recv := reactor.Op{Kind: reactor.Recv, FD: pair[0], Token: 1}
			send := reactor.Op{Kind: reactor.Send, FD: pair[1], Token: 2, Buf: make([]byte, 64)}
			require.NoError(b, r.Submit(&recv))
			out := make([]reactor.Completion, 16)
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Submit(&send); err != nil {
					b.Fatal(err)
				}
				for got := 0; got < 64; {
					n, err := r.Poll(out, 0, false)
					if err != nil {
						b.Fatal(err)
					}
					for _, c := range out[:n] {
						if c.Kind == reactor.Recv {
							got += c.Res
							r.Release(c.Buf)
							if !c.More {
								require.NoError(b, r.Submit(&recv))
							}
						}
					}
				}
			}
		})
	}
}

package conn_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Connections that nobody accepts stay in the kernel's backlog, except for a few.
func TestSocketListenerStopsAcceptingAtItsBacklog(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		const backlog, clients = 4, 60
		l := f.open("tcp", conn.SocketListenerConfig{Backlog: backlog})
		var all []net.Conn
		dial := func(n int) {
			for range n {
				all = append(all, f.dial())
			}
		}
		dial(backlog)
		conntest.Eventually(t, func() bool { return l.Full() })
		f.rounds(10) // an accept in flight may still take what it finds before it is canceled
		had := f.Len()
		dial(clients - backlog)
		for range 20 { // a look is no proof, but a listener that goes on is seen
			require.Equal(t, had, f.Len())
			time.Sleep(time.Millisecond)
		}
		require.Less(t, had, clients)
		for i := range clients {
			a, err := l.Accept()
			require.NoError(t, err)
			write(t, a, "welcome")
			require.NoError(t, a.Close())
			_ = i
		}
		for _, c := range all {
			require.Equal(t, "welcome", string(readEOF(t, c)))
			require.NoError(t, c.Close())
		}
		require.Zero(t, l.Arrived())
		conntest.Eventually(t, func() bool { return !l.Full() }) // its task says so
	})
}

func TestSocketListenerCloseEndsAcceptAndWhatNobodyTook(t *testing.T) {
	onSocketGroups(t, conntest.Workers(t), func(t *testing.T, f *fixture) {
		for range 5 {
			l := f.open("tcp", conn.SocketListenerConfig{})
			taken := f.dial()
			a, err := l.Accept()
			require.NoError(t, err)
			left := f.dial()
			conntest.Eventually(t, func() bool { return l.Arrived() == 1 })
			require.NoError(t, l.Close())
			_, err = l.Accept()
			requireOpError(t, err, "accept", net.ErrClosed)
			requireOpError(t, l.Close(), "close", net.ErrClosed)
			_, err = left.Read(make([]byte, 1))
			requireReset(t, err)

			write(t, a, "still here")
			require.Equal(t, "still here", string(read(t, taken, 10)))
			require.NoError(t, a.Close())
			require.NoError(t, taken.Close())
			require.NoError(t, left.Close())
		}
	})
}

// As nettest has it for listeners: many at once, while it is closed.
func TestSocketListenerWithManyAtOnce(t *testing.T) {
	onSocketGroups(t, conntest.Workers(t), func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{Backlog: 8})
		var acceptors sync.WaitGroup
		for range 4 {
			acceptors.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						requireOpError(t, err, "accept", net.ErrClosed)
						return
					}
					go func() {
						_, _ = io.Copy(c, c)
						_ = c.Close()
					}()
				}
			})
		}
		conntest.Crowd(t, 300, 30, func(i int) error {
			c, err := f.DialSocketContext(t.Context(), f.addr)
			if err != nil {
				return err
			}
			defer c.Close()
			want := numbered(i, i)
			if _, err := c.Write(want); err != nil {
				return err
			}
			got := make([]byte, len(want))
			if _, err = io.ReadFull(c, got); err == nil && string(got) != string(want) {
				err = io.ErrUnexpectedEOF
			}
			return err
		})
		require.NoError(t, l.Close())
		acceptors.Wait()
	})
}

// numbered is a datagram that no other one is like.
func numbered(client, i int) []byte {
	at := (client*7919 + i*31) % (len(noise) - 2000)
	return append(fmt.Appendf(nil, "%d/%d:", client, i), noise[at:at+i%1400]...)
}

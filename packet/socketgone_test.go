package packet_test

import (
	"net"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// A Socket that the group has ended refuses deadlines, and one that was set before, for a time
// far off, does not keep it in memory.
func TestASocketThatTheGroupHasEndedHasNoDeadlines(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		forgotten := func() weak.Pointer[packet.Socket] {
			s, err := packet.Open(f, listenUDP(t, "udp4", "127.0.0.1:0"))
			require.NoError(t, err)
			require.NoError(t, s.SetDeadline(time.Now().Add(time.Hour)))
			read := make(chan error, 1)
			go func() { _, err := s.Read(nil); read <- err }()
			f.Abort()
			requireOpError(t, conntest.Receive(t, read), "read", net.ErrClosed)
			for _, set := range []func(time.Time) error{s.SetDeadline, s.SetReadDeadline, s.SetWriteDeadline} {
				requireOpError(t, set(time.Now().Add(time.Hour)), "set", net.ErrClosed)
			}
			return weak.Make(s)
		}()
		conntest.Eventually(t, func() bool { runtime.GC(); return forgotten.Value() == nil })
	})
}

// A write that finds the queue full says so as all others do.
func TestASocketsWriteSaysThatTheQueueIsFull(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1, func(cfg *conn.Config) { cfg.LowWater, cfg.HighWater, cfg.MaxWrite = 1, 1, 1 })
		s, err := packet.Open(f, listenUDP(t, "udp4", "127.0.0.1:0"))
		require.NoError(t, err)
		release := f.stickAll() // so that the first one stays queued
		const writers = 4
		wrote := make(chan error, writers)
		for range writers {
			go func() { _, err := s.WriteTo([]byte("x"), s.LocalAddr()); wrote <- err }()
		}
		for range writers - 1 {
			requireOpError(t, conntest.Receive(t, wrote), "write", packet.ErrWriteQueueFull)
		}
		release()
		require.NoError(t, conntest.Receive(t, wrote))
		require.NoError(t, s.Close())
	})
}

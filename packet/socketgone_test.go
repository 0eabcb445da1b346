package packet_test

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// A Socket that the group has ended refuses deadlines. A distant deadline that was set before does
// not keep it in memory.
func TestASocketThatTheGroupHasEndedHasNoDeadlines(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		forgotten := func() weak.Pointer[packet.Socket] {
			s, err := packet.ListenSocket(f, listenUDP(t, "udp4", "127.0.0.1:0"))
			require.NoError(t, err)
			require.NoError(t, s.SetDeadline(time.Now().Add(time.Hour)))
			read := make(chan error, 1)
			go func() { _, err := s.Read(make([]byte, 1)); read <- err }()
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

// The kernel does not report an error again that a read has kept for the next one.
func TestAKeptErrorWakesAReadThatWaits(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := openSocket(t, newFixture(t, backend, workers))
		for range 10 {
			read := make(chan error, 1)
			go func() { _, err := s.Read(make([]byte, 1)); read <- err }()
			time.Sleep(time.Millisecond) // the read mostly waits afterwards
			require.NoError(t, packet.KeepError(s, syscall.ECONNREFUSED))
			requireOpError(t, conntest.Receive(t, read), "read", syscall.ECONNREFUSED)
		}
		require.NoError(t, s.SetReadDeadline(time.Now().Add(time.Millisecond)))
		_, err := s.Read(make([]byte, 1))
		requireOpError(t, err, "read", os.ErrDeadlineExceeded)
	})
}

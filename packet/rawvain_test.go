package packet_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A function that returns false although the socket is ready is called again when something has
// changed, as by package net.
func TestARawFunctionThatLeavesTheSocketReadyDoesNotSpin(t *testing.T) {
	if conntest.Wine() {
		t.Skip("raw reads are not supported there")
	}
	onSockets(t, func(t *testing.T, s udpKind) {
		server := s.listen()
		client := s.dial(server.LocalAddr())
		raw := rawOf(t, server.(syscall.Conn))
		for name, call := range map[string]func(func(uintptr) bool) error{"raw-read": raw.Read, "raw-write": raw.Write} {
			_, err := client.Write([]byte("unread"))
			require.NoError(t, err)
			for range 3 {
				require.NoError(t, server.SetDeadline(time.Now().Add(50*time.Millisecond)))
				tries := 0
				err = call(func(uintptr) bool { tries++; return false })
				requireOpError(t, err, name, os.ErrDeadlineExceeded)
				require.Less(t, tries, 10, name)
			}
		}
		require.NoError(t, server.SetDeadline(time.Now().Add(conntest.Patience)))
		tries := make(chan int, 100)
		ended := make(chan error, 1)
		go func() {
			n := 0
			ended <- raw.Read(func(uintptr) bool { n++; tries <- n; return n >= 20 })
		}()
		for n := 0; n < 20; { // each datagram makes it called again
			select {
			case n = <-tries:
			case <-time.After(20 * time.Millisecond):
			}
			_, err := client.Write([]byte("more"))
			require.NoError(t, err)
		}
		require.NoError(t, conntest.Receive(t, ended))
		p := make([]byte, 100)
		n, _, err := server.ReadFrom(p)
		require.NoError(t, err)
		require.Equal(t, "unread", string(p[:n]))
	})
}

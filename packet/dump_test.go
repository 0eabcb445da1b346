package packet_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// The race detector finds a descriptor that is read without the lock.
func TestASocketThatEndsCanBeDumped(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1)
		h, at := servePackets(t, f, &funcs{lives: lives})
		dump := packet.DumpOf(h)
		require.Contains(t, dump(), " packet socket "+at.String())
		require.NotContains(t, dump(), "fd -1")
		require.NoError(t, h.Close())
		conntest.Eventually(t, func() bool { return strings.Contains(dump(), "fd -1") })
	})
}

package conn_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
)

// The filter is a real one, so each profile has a process. It runs tests of the calls that such a
// container refuses.
func TestConnectionsUnderASeccompProfile(t *testing.T) {
	for _, profile := range conntest.Profiles {
		t.Run(profile.Name, func(t *testing.T) {
			conntest.InChild(t, nil, func(t *testing.T) {
				if err := profile.Forbid(); err != nil {
					t.Skipf("no seccomp filter can be set here: %v", err)
				}
				_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
				require.Equal(t, profile.Errno, errno, "the filter has no effect")
				t.Run("echo", TestEveryByteOfManyConnectionsComesBackInOrder)
				t.Run("splice", TestASpliceCarriesEveryByteBothWays)
				t.Run("stream splice", TestStreamsAreSplicedWithHalfClosesEachWay)
				t.Run("file", TestFilesAreSentInOrderWithWhatIsWritten)
				t.Run("stream file", TestStreamsSendFilesInOrderWithWrites)
			})
		})
	}
}

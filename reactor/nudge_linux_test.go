package reactor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The effect of a nudge shows only in times (go run ./bench -workloads skew). This test checks that
// the kernel accepts the call.
func TestANudgeIsTakenWhereTheKernelHasIt(t *testing.T) {
	commands, _, errno := unix.RawSyscall(unix.SYS_MEMBARRIER, 0, 0, 0) // query
	has := errno == 0 && commands&membarrierPrivateExpedited != 0
	require.Equal(t, has, nudge())
	require.Equal(t, has, nudge(), "a second time")
}

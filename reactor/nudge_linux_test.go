package reactor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What a nudge does shows in time alone (go run ./bench -workloads skew); that the kernel takes it,
// here.
func TestANudgeIsTakenWhereTheKernelHasIt(t *testing.T) {
	commands, _, errno := unix.RawSyscall(unix.SYS_MEMBARRIER, 0, 0, 0) // query
	has := errno == 0 && commands&membarrierPrivateExpedited != 0
	require.Equal(t, has, nudge())
	require.Equal(t, has, nudge(), "a second time")
}

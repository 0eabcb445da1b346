package sock

import "golang.org/x/sys/windows"

// Flags of a datagram that was received.
const (
	Truncated        = windows.MSG_TRUNC  // the datagram is longer than the room for it
	ControlTruncated = windows.MSG_CTRUNC // some control messages did not fit
)

// CopyControl copies nothing: no control messages are received here.
func CopyControl(_, _ []byte) (n int, all bool) { return 0, true }

package sock

import "golang.org/x/sys/unix"

func peerPID(fd int) int {
	pid, err := unix.GetsockoptInt(fd, solLocal, unix.LOCAL_PEERPID)
	if err != nil {
		return 0
	}
	return pid
}

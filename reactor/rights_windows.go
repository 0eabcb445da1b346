package reactor

import "syscall"

// MaxRights is how many descriptors one message may carry: Windows passes none.
const MaxRights = 0

// TrySendRights sends bytes without descriptors, which Windows cannot pass.
func (c Calls) TrySendRights(fd int, p []byte, fds []int) (int, syscall.Errno) {
	if len(fds) > 0 {
		return 0, syscall.EOPNOTSUPP
	}
	return c.TrySend(fd, p, nil)
}

// TryRecvRights receives bytes. There are no descriptors.
func (c Calls) TryRecvRights(fd int, p []byte) (n int, fds []int, lost bool, errno syscall.Errno) {
	n, errno = c.TryRecv(fd, p)
	return n, nil, false, errno
}

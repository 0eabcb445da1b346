//go:build darwin || netbsd || openbsd

package sock

import "golang.org/x/sys/unix"

// HaveReusePort says that sockets that share a port have connections spread over them: not
// here, where one of them gets all.
const HaveReusePort = false

const reusePort = unix.SO_REUSEPORT

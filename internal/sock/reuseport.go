//go:build dragonfly || linux

package sock

import "golang.org/x/sys/unix"

// HaveReusePort says that sockets that share a port have connections spread over them.
const HaveReusePort = true

const reusePort = unix.SO_REUSEPORT

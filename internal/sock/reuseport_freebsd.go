package sock

import "golang.org/x/sys/unix"

// HaveReusePort says that sockets that share a port have connections spread over them.
const HaveReusePort = true

const reusePort = unix.SO_REUSEPORT_LB // SO_REUSEPORT gives all to the last one; FreeBSD 12

package sock

import "golang.org/x/sys/unix"

const (
	haveKeepAlive   = true
	tcpKeepIdle     = unix.TCP_KEEPALIVE
	tcpKeepInterval = unix.TCP_KEEPINTVL
	tcpKeepCount    = unix.TCP_KEEPCNT
)

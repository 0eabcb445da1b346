package sock

// Only whether there are probes is a socket's own here.
const (
	haveKeepAlive   = false
	tcpKeepIdle     = 0
	tcpKeepInterval = 0
	tcpKeepCount    = 0
)

// Package turns bounds how many handshakes compute at a time. A handshake holds a turn while
// its goroutine computes, and none while that waits for the peer: so a silent peer costs the
// others nothing. Turns are given in the order in which they were asked for, whether a
// handshake begins or goes on. The package knows nothing of TLS or of connections.
package turns

// Package semaphore bounds how many TLS handshakes compute at the same time. A handshake holds the
// semaphore while its goroutine computes, and releases it while the goroutine waits for the peer.
// So a silent peer costs the others nothing. The waiters are served in FIFO order, whether a
// handshake starts or continues. The package knows nothing of TLS or of connections.
package semaphore

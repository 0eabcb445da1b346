// Package tlsmem runs crypto/tls over a transport in memory, for a connection whose owner
// receives and sends the ciphertext. A Session is the TLS of one connection. It has three
// phases.
//
// During the handshake a goroutine blocks in crypto/tls. Feed gives it received bytes, and it
// gives its Owner the bytes to send. Package semaphore bounds how many of these goroutines compute
// at a time. A goroutine that waits for its peer does not count.
//
// From Ready on the Session belongs to its owner's task and never blocks. Read decrypts the
// bytes of Supply. When no ciphertext is left, the transport returns a temporary error.
// crypto/tls does not keep such an error, so a later Read goes on. Encrypt makes ciphertext.
//
// While the Session is lent, the transport is a net.Conn of the owner's, and goroutines use
// the tls.Conn. TakeBack ends this phase.
//
// The package knows nothing of connections, reactors or tasks.
package tlsmem

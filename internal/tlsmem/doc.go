// Package tlsmem runs crypto/tls for a connection that others read and write: over a
// transport in memory. A Session is the TLS of one connection, and lives three lives.
//
// During the handshake a goroutine blocks in crypto/tls. Feed gives it what has arrived, and
// it gives its Owner what is to be sent. At most so many of these goroutines compute at a
// time as package turns allows, and one that waits for its peer does not count.
//
// From Ready on the Session belongs to its owner's task and never blocks. Read decrypts what
// Supply has brought. When no ciphertext is left, the transport returns a temporary error,
// which crypto/tls does not keep, so a later Read goes on. Encrypt makes ciphertext of what
// is to be sent.
//
// While it is lent, the transport is a net.Conn of the owner's, and goroutines use the
// tls.Conn. TakeBack ends that.
//
// The package knows nothing of connections, reactors or tasks.
package tlsmem

// Package packet serves datagram sockets on the workers of a *conn.Group.
//
// A [Conn] calls the methods of a [Handler], and [Sessions] keeps a session for each peer. A
// [UDPSocket] is for tasks. A [Socket] is a net.PacketConn for ordinary goroutines.
package packet

// Package packet serves datagram sockets on a group's workers: a [Conn] with a [Handler] of
// callbacks, [Sessions] that tell peers apart, and a [Socket], which is a net.PacketConn for
// ordinary goroutines. The group is a *conn.Group.
package packet

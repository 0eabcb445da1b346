// Package server serves TCP, Unix and UDP sockets. Zero values are useful:
//
//	type echo struct{ server.Base }
//	func (echo) OnData(c *server.Conn) error {
//		p, _ := c.Next(-1)
//		_, err := c.Write(p)
//		return err
//	}
//	err := server.Run(ctx, &server.Server{Addr: ":9000", Handler: echo{}}) // until a signal
//
// A [Handler] is such a type, [Sequential] or [HTTP]. It must not block its worker: package
// blocking has Do for what blocks. [Listen] returns a listener.
// A [Dialer] connects. conn/frame has framing, "go doc conn.Conn" the methods.
package server

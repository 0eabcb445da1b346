// Package server serves TCP and Unix connections, and UDP sockets, with callback handlers, in the
// manner of net/http: a [Server] whose zero values are useful.
//
//	type echo struct{ server.Base }
//
//	func (echo) OnData(c *server.Conn) error {
//		p, _ := c.Next(-1)
//		_, err := c.Write(p)
//		return err
//	}
//
//	s := &server.Server{Addr: "127.0.0.1:9000", Handler: echo{}}
//	err := s.ListenAndServe()
//
// What serves a net.Listener, such as net/http, can serve one of [Listen]: its
// connections block goroutines, as those of package net do.
//
// With [Server.TLS] all of these speak TLS: handlers see plaintext.
//
// A [Dialer] connects to others by name, and a [Pool] keeps such connections.
//
// The handler runs on workers, one per processor by default, each with its own
// io_uring or epoll instance; see the packages conn and sched below this one.
package server

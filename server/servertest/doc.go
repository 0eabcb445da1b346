// Package servertest has connections that stay in memory, for tests of what serves or
// dials net.Conns: nothing of the system is used, so a test needs no port, works in a
// bubble of testing/synctest, and leaves nothing behind.
//
//	ln := servertest.Listen(0)
//	go http.Serve(ln, handler)
//	client := &http.Client{Transport: &http.Transport{DialContext: ln.DialContext}}
//
// Unlike net.Pipe's, the connections buffer, as a socket does: a write returns when the
// buffer has taken it, and they close by halves. Deadlines and errors are those of
// package net.
package servertest

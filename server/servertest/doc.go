// Package servertest has connections in memory, for tests of code that serves or dials net.Conns.
// It uses nothing of the operating system: a test needs no port, works in a bubble of
// testing/synctest, and leaves nothing behind.
//
//	ln := servertest.Listen(0)
//	go http.Serve(ln, handler)
//	client := &http.Client{Transport: &http.Transport{DialContext: ln.DialContext}}
//
// Unlike net.Pipe's, the connections buffer, as a socket does: a write returns when the buffer has
// taken the bytes. Each direction can be closed alone. Deadlines and errors are those of package
// net.
package servertest

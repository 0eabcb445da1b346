// Package duplex has goroutines block on a byte stream that a task drives: the task pushes what
// has arrived, and a [Duplex] makes of it Read, Write, deadlines and half-closes as package
// net's connections have them. It knows of the connection beneath only what [Line] says.
//
// Errors are the bare ones: net.ErrClosed, os.ErrDeadlineExceeded, io.EOF, or what the
// connection ended with.
package duplex

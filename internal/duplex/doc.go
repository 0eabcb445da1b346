// Package duplex lets goroutines block on a byte stream that a task drives. The task pushes
// received bytes. A [Duplex] offers Read, Write, deadlines and half-closes, as package net's
// connections do. It knows the connection beneath only as a [Line].
//
// Errors are the bare ones: net.ErrClosed, os.ErrDeadlineExceeded, io.EOF, or the error that ended
// the connection.
package duplex

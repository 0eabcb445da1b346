// Package attempts connects to whichever of several addresses answers first, as RFC 8305 says
// (Happy Eyeballs version 2, section 5). It runs the attempts of internal/eyeballs on the
// reactors of package engine: each is a socket with a Connect in flight. The winner's descriptor
// goes to the Owner, and the other sockets are closed.
package attempts

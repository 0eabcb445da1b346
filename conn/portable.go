package conn

import "github.com/suiro-go/suiro/internal/sock"

// Portable has an error of the network match, by errors.Is, the numbers that package
// syscall has for it on every system, such as syscall.ECONNREFUSED. On Windows those of
// package net do not: there the system's own are others (WSAECONNREFUSED, 10061), and
// what package syscall calls ECONNREFUSED is an invented one. The errors of this
// package, and of package server, match both. Elsewhere it returns err.
func Portable(err error) error { return sock.Portable(err) }

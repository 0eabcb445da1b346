package conn

import "github.com/suiro-go/suiro/internal/sock"

// Portable makes an error of the network match, by errors.Is, package syscall's numbers on every
// system, such as syscall.ECONNREFUSED. On Windows package net's errors do not match them. Windows
// has numbers of its own (WSAECONNREFUSED, 10061), and syscall.ECONNREFUSED is an invented number
// there. The errors of this package, and of package server, match both. Elsewhere it returns err.
func Portable(err error) error { return sock.Portable(err) }

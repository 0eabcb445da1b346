// Package oracle compares package uring with giouring, an independent translation of liburing: each
// entry byte for byte, each constant, and a conversation with the kernel. It has tests alone, in a
// module of its own, so that no user of the library requires giouring:
//
//	go test -ldflags=-checklinkname=0 .
//
// giouring links to internals of package syscall, which the linker refuses without that flag. It
// does not compile for 32-bit systems.
package oracle

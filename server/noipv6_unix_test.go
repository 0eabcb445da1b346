//go:build unix

package server_test

import "syscall"

const errNoIPv6 = syscall.EADDRNOTAVAIL

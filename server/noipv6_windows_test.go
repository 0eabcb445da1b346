package server_test

import "golang.org/x/sys/windows"

const errNoIPv6 = windows.WSAEADDRNOTAVAIL

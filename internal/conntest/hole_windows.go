package conntest

import (
	"net"
	"syscall"

	"golang.org/x/sys/windows"
)

type socket = syscall.Handle

func openSocket(family int) (socket, error) {
	fd, err := windows.WSASocket(int32(family), syscall.SOCK_STREAM, 0, nil, 0, windows.WSA_FLAG_OVERLAPPED|windows.WSA_FLAG_NO_HANDLE_INHERIT)
	return socket(fd), err
}

func closeSocket(fd socket) { _ = syscall.Closesocket(fd) }

func (h *Hole) close() {
	if h.fd != syscall.InvalidHandle {
		closeSocket(h.fd)
	}
}

// listener is another socket in its place: one that is not package net's cannot become so
// under Wine.
func (h *Hole) listener() (net.Listener, error) {
	h.close()
	h.fd = syscall.InvalidHandle
	return net.Listen("tcp", h.addr.String())
}

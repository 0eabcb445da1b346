//go:build unix

package conntest

import (
	"net"
	"os"
	"syscall"
)

type socket = int

func openSocket(family int) (socket, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	return fd, err
}

func closeSocket(fd socket) { _ = syscall.Close(fd) }

func (h *Hole) close() { closeSocket(h.fd) }

func (h *Hole) listener() (net.Listener, error) {
	fd, err := syscall.Dup(h.fd)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer func() { _ = f.Close() }()
	return net.FileListener(f)
}

package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// An Inherited is a descriptor that the process was started with: one of the three is
// not nil.
type Inherited struct {
	// Name is the name that the passing program gave it. From a systemd socket unit this is
	// FileDescriptorName, from Server.HandOver the address. It may be "".
	Name string

	Listener   net.Listener   // of a socket that listens: for Server.Serve
	PacketConn net.PacketConn // of a datagram socket: a *net.UDPConn is for Server.ServePacket
	File       *os.File       // of anything else
}

const firstInherited = 3 // SD_LISTEN_FDS_START

// Listeners returns the sockets and files that the process was started with. They come from
// systemd's socket activation (sd_listen_fds(3)), or from Server.HandOver of the program that this
// one replaces. None is no error. It unsets the environment variables that name them and makes the
// descriptors close-on-exec, so that children do not use them. A second call returns none. Windows
// has no such inheritance: if the variables are set there, the error matches errors.ErrUnsupported,
// as does HandOver's.
func Listeners() ([]Inherited, error) {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name)
	}
	if !activated(pid, count) {
		return nil, nil
	}
	if runtime.GOOS == "windows" {
		return nil, fmt.Errorf("server: LISTEN_FDS on Windows, where processes inherit no numbered descriptors: %w", errors.ErrUnsupported)
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("server: LISTEN_FDS is %q; it is the number of descriptors, set by the program that starts this one", count)
	}
	var all []Inherited
	for i := range n {
		in := Inherited{}
		if i < len(names) {
			in.Name = names[i]
		}
		in.take(os.NewFile(uintptr(firstInherited+i), in.Name))
		all = append(all, in)
	}
	return all, nil
}

// activated reports whether these values of LISTEN_PID and LISTEN_FDS are for this process.
func activated(pid, count string) bool {
	return count != "" && (pid == "" || pid == strconv.Itoa(os.Getpid()))
}

var warnUntaken sync.Once // Run warns once per process

// warnOfUntakenSockets warns if the process was started with sockets that Listeners has not taken.
func (s *Server) warnOfUntakenSockets() {
	count := os.Getenv("LISTEN_FDS")
	if count == "0" || !activated(os.Getenv("LISTEN_PID"), count) {
		return
	}
	log := s.Logger
	if s.On != nil {
		log = s.On.Logger()
	} else if log == nil {
		log = defaultLogger()
	}
	log.Warn("server: Run listens on Addr, and not on the sockets of systemd's socket activation; set Server.Listener to one of server.Listeners",
		"sockets", count, "addr", s.Addr)
}

// take finds out the type of a descriptor. Package net works on copies, which are close-on-exec.
func (in *Inherited) take(f *os.File) {
	if ln, err := net.FileListener(f); err == nil {
		in.Listener = ln
	} else if pc, err := net.FilePacketConn(f); err == nil {
		in.PacketConn = pc
	} else {
		closeOnExec(f)
		in.File = f
		return
	}
	_ = f.Close()
}

// HandOver makes a command that is not started yet inherit the server's listening sockets, those of
// Listen and of UDP too. The new program gets them from Listeners: a restart without a refused
// connection. The error is ErrServerClosed before the server serves and from Shutdown on. A server
// without sockets, and Windows, are errors too. Any goroutine may call it. Start the command, wait
// until it reports that it serves, and then call Shutdown. Until then both programs accept.
// Connections that are in the backlog afterwards go to the new one.
//
// cmd.ExtraFiles must be empty: the sockets are the first descriptors. They are copies: close them
// once the command has started. This server no longer removes the paths of its Unix sockets when it
// ends.
func (s *Server) HandOver(cmd *exec.Cmd) error {
	if runtime.GOOS == "windows" {
		return fmt.Errorf("server: HandOver on Windows, where a command inherits no sockets so: %w", errors.ErrUnsupported)
	}
	if len(cmd.ExtraFiles) > 0 {
		return errors.New("server: HandOver needs a command without ExtraFiles; append yours after it")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || s.group == nil {
		return ErrServerClosed
	}
	all, err := s.files()
	if err == nil && len(all) == 0 {
		err = errors.New("server: HandOver of a server that listens nowhere: call it when the server serves")
	}
	if err != nil {
		closeAll(all)
		return err
	}
	var names []string
	for _, f := range all {
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
		names = append(names, strings.ReplaceAll(addressOf(f), ":", "_"))
	}
	s.keepPaths()
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "LISTEN_PID=", "LISTEN_FDS="+strconv.Itoa(len(names)), "LISTEN_FDNAMES="+strings.Join(names, ":"))
	return nil
}

// files returns copies of the sockets on which the server listens. addressOf has their addresses.
// mu is held. With an error, it returns the copies made so far.
func (s *Server) files() (all []*os.File, err error) {
	for l := range s.listeners {
		f, err := l.File()
		if err != nil {
			return all, fmt.Errorf("server: handing over %v: %w", l.Addr(), err)
		}
		all = append(all, f)
	}
	for l := range s.sockets {
		some, err := l.inner.Files()
		if err != nil {
			return all, fmt.Errorf("server: handing over %v: %w", l.inner.Addr(), err)
		}
		all = append(all, some...)
	}
	var packets []interface{ File() (*os.File, error) }
	for _, p := range s.packets {
		packets = append(packets, p)
	}
	for u := range s.datagrams {
		packets = append(packets, u)
	}
	for _, p := range packets {
		f, err := p.File()
		switch {
		case errors.Is(err, net.ErrClosed): // its handler or its user has closed the socket
		case err != nil:
			return all, fmt.Errorf("server: handing over a UDP socket: %w", err)
		default:
			all = append(all, f)
		}
	}
	return all, nil
}

// addressOf is the address in a file's name. Those of s.datagrams are "udp:address->", as in
// package net, and "udp:address".
func addressOf(f *os.File) string {
	return strings.TrimSuffix(strings.TrimPrefix(f.Name(), "udp:"), "->")
}

// keepPaths leaves the paths of Unix sockets for the command. mu is held.
func (s *Server) keepPaths() {
	var all []net.Listener
	for _, ln := range s.listeners {
		all = append(all, ln)
	}
	for l := range s.sockets {
		all = append(all, l.path...)
	}
	for _, ln := range all {
		if u, ok := ln.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false)
		}
	}
}

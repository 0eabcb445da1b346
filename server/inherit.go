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
)

// An Inherited is a descriptor that the process was started with: one of the three is
// not nil.
type Inherited struct {
	// Name is what whoever passed it on calls it: FileDescriptorName of a
	// systemd socket unit; of Server.HandOver, its address. It may be "".
	Name string

	Listener   net.Listener   // of a socket that listens: for Server.Serve
	PacketConn net.PacketConn // of a datagram socket: a *net.UDPConn is for Server.ServePacket
	File       *os.File       // of anything else
}

const firstInherited = 3 // SD_LISTEN_FDS_START

// Listeners returns what the process was started with: by systemd's socket activation
// (sd_listen_fds(3)), or by Server.HandOver of the program that it replaces. None is no
// error. The environment variables that tell of them are unset and the descriptors
// close-on-exec, so children do not take them for theirs; a second call finds none. On
// Windows nothing is inherited so: to be told of some is an error that matches
// errors.ErrUnsupported, as is HandOver's.
func Listeners() ([]Inherited, error) {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name)
	}
	if count == "" || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return nil, nil // not for this process
	}
	if runtime.GOOS == "windows" {
		return nil, fmt.Errorf("server: LISTEN_FDS on Windows, where processes inherit no numbered descriptors: %w", errors.ErrUnsupported)
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("server: LISTEN_FDS is %q; it is the number of descriptors, set by whoever starts the process", count)
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

// take finds out what a descriptor is. Package net works on copies, close-on-exec.
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

// HandOver has a command that is not started yet inherit the server's listening
// sockets, those of Listen and of UDP too, where Listeners finds them: for a restart without a
// refused connection. A server without any returns an error.
// Start the command, wait until it says that it serves, and then call Shutdown. Until
// then both accept; what is in the backlog after that is the new one's.
//
// cmd.ExtraFiles must be empty: the first descriptors are for these. They are copies, to
// be closed once the command has started. Paths of Unix sockets are not removed any more
// when this server ends.
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
		names = append(names, strings.ReplaceAll(f.Name(), ":", "_"))
	}
	s.keepPaths()
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "LISTEN_PID=", "LISTEN_FDS="+strconv.Itoa(len(names)), "LISTEN_FDNAMES="+strings.Join(names, ":"))
	return nil
}

// files are copies of the sockets on which the server listens, named by their addresses. mu
// is held. With an error, those that there are so far.
func (s *Server) files() (all []*os.File, err error) {
	for l := range s.listeners {
		f, err := l.File()
		if err != nil {
			return all, fmt.Errorf("server: handing over %v: %w", l.Addr(), err)
		}
		all = append(all, f)
	}
	for l := range s.sockets {
		some, err := l.Files()
		if err != nil {
			return all, fmt.Errorf("server: handing over %v: %w", l.Addr(), err)
		}
		all = append(all, some...)
	}
	for _, p := range s.packets {
		f, err := p.File()
		switch {
		case errors.Is(err, net.ErrClosed): // its handler has closed it
		case err != nil:
			return all, fmt.Errorf("server: handing over a UDP socket: %w", err)
		default:
			all = append(all, f)
		}
	}
	return all, nil
}

// keepPaths leaves the paths of Unix sockets to the command. mu is held.
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

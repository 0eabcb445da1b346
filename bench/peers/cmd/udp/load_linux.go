package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// loadMain is the child process "udp load ADDR PID SOCKETS INFLIGHT SIZE WARMUP SECONDS": one thread that keeps
// every socket's datagrams in flight, in batches, so that the load costs less than what it measures.
func loadMain(args []string) error {
	if len(args) != 7 {
		return fmt.Errorf("load takes 7 arguments, not %q", args)
	}
	runtime.LockOSThread()
	to, err := netip.ParseAddrPort(args[0])
	if err != nil {
		return err
	}
	var nums [4]int
	for i := range nums {
		if nums[i], err = strconv.Atoi(args[1+i]); err != nil {
			return err
		}
	}
	pid, sockets, inFlight, size := nums[0], nums[1], nums[2], nums[3]
	if size < 16 {
		return errors.New("a datagram has at least 16 bytes")
	}
	var clients []*client
	for i := range sockets {
		c, err := newClient(to, i, inFlight, size)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	warmup, err1 := strconv.ParseFloat(args[5], 64)
	seconds, err2 := strconv.ParseFloat(args[6], 64)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	l := &load{clients: clients}
	if err := l.run(time.Duration(warmup * float64(time.Second))); err != nil {
		return err
	}
	before, err := cpuTime(pid)
	if err != nil {
		return err
	}
	received, lost, start := l.received, l.lost, time.Now()
	if err := l.run(time.Duration(seconds * float64(time.Second))); err != nil {
		return err
	}
	elapsed := time.Since(start)
	after, err := cpuTime(pid)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"Datagrams": l.received - received, "Lost": l.lost - lost, "Seconds": elapsed.Seconds(), "CPU": after - before,
	})
}

// cpuTime is what all threads of a process have run, in nanoseconds.
func cpuTime(pid int) (sum int64, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("process %d has no threads: %w", pid, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // ended meanwhile
		}
		ran, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

type load struct {
	clients        []*client
	received, lost int64
}

// stall is for how long nothing may come back before what is in flight counts as lost.
const stall = 200 * time.Millisecond

func (l *load) run(d time.Duration) error {
	polls := make([]unix.PollFd, len(l.clients))
	for i, c := range l.clients {
		polls[i] = unix.PollFd{Fd: int32(c.fd), Events: unix.POLLIN}
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		for _, c := range l.clients {
			if err := c.fill(); err != nil {
				return err
			}
		}
		n, err := unix.Poll(polls, int(stall.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			for _, c := range l.clients {
				l.lost += int64(c.flying)
				c.flying = 0
			}
		}
		for i, c := range l.clients {
			if polls[i].Revents != 0 {
				n, err := c.drain()
				if err != nil {
					return err
				}
				l.received += int64(n)
			}
		}
	}
	return nil
}

type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
}

// A client is one socket.
type client struct {
	fd, id, size int
	flying       int
	most         int
	sent         uint64
	out, in      []mmsghdr
	outIov       []unix.Iovec
	inIov        []unix.Iovec
	outMem       []byte
	inMem        []byte
}

func newClient(to netip.AddrPort, id, inFlight, size int) (*client, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return nil, err
	}
	c := &client{fd: fd, id: id, size: size, most: inFlight,
		out: make([]mmsghdr, inFlight), in: make([]mmsghdr, inFlight),
		outIov: make([]unix.Iovec, inFlight), inIov: make([]unix.Iovec, inFlight),
		outMem: make([]byte, inFlight*size), inMem: make([]byte, inFlight*2048)}
	for i := range inFlight {
		c.outIov[i].Base = &c.outMem[i*size]
		c.outIov[i].SetLen(size)
		c.out[i].hdr.Iov = &c.outIov[i]
		c.out[i].hdr.SetIovlen(1)
		c.inIov[i].Base = &c.inMem[i*2048]
		c.inIov[i].SetLen(2048)
		c.in[i].hdr.Iov = &c.inIov[i]
		c.in[i].hdr.SetIovlen(1)
	}
	return c, nil
}

// fill sends as many as may be in flight.
func (c *client) fill() error {
	n := c.most - c.flying
	for i := range n {
		p := c.outMem[i*c.size:]
		binary.LittleEndian.PutUint64(p, uint64(c.id))
		binary.LittleEndian.PutUint64(p[8:], c.sent+uint64(i))
	}
	for from := 0; from < n; {
		sent, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(c.fd), uintptr(unsafe.Pointer(&c.out[from])), uintptr(n-from), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			from += int(sent)
			c.flying += int(sent)
			c.sent += uint64(sent)
		case unix.EAGAIN, unix.ENOBUFS:
			return nil
		case unix.EINTR:
		default:
			return os.NewSyscallError("sendmmsg", errno)
		}
	}
	return nil
}

// drain receives what has come back.
func (c *client) drain() (int, error) {
	got, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(c.fd), uintptr(unsafe.Pointer(&c.in[0])), uintptr(len(c.in)), unix.MSG_DONTWAIT, 0, 0)
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return 0, nil
	}
	if errno != 0 {
		return 0, os.NewSyscallError("recvmmsg", errno)
	}
	n := int(got)
	for i := range n {
		p := c.inMem[i*2048:]
		if int(c.in[i].n) != c.size || binary.LittleEndian.Uint64(p) != uint64(c.id) || binary.LittleEndian.Uint64(p[8:]) >= c.sent {
			return 0, fmt.Errorf("a wrong echo of %d bytes", c.in[i].n)
		}
	}
	c.flying = max(0, c.flying-n)
	return n, nil
}

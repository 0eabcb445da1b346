package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	leastDatagram = 16        // bytes: its socket and its number
	mostDatagram  = 2048      // bytes
	burst         = 32        // datagrams that one call sends or receives at most
	remembered    = 1 << 14   // datagrams of a socket that may be under way: a power of 2
	udpBuffer     = 4 << 20   // of a socket, in bytes, if the kernel allows it
	mostLost      = 1. / 1000 // of all: more fails the run
)

// lossTime is the silence after which datagrams in flight count as lost. It is longer than other
// processes may keep a server from its CPU. Tests shorten it.
var lossTime = time.Second

// An exchange is the state of a run of Packets.
type exchange struct {
	pace      pace
	sockets   []*socket
	poll      *poller
	messages  payload
	size      int
	received  int64
	lost      int64
	heard     time.Duration // when the last datagram came
	latency   histogram
	late      histogram
	lostInAll int64
}

// A socket sends datagrams and checks the answers, in any order.
type socket struct {
	fd, id  int
	sent    int // datagrams
	missing int
	due     int             // of an open loop: datagrams whose time has come
	flying  []time.Duration // by number: when it was to be sent; 0: it is back
	out, in []mmsghdr
	outMem  []byte
	inMem   []byte
}

type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
}

// Packets sends datagrams to an echo server from Conns sockets. In a closed loop each has Depth of
// them in flight. A datagram that is missing after a second of silence is lost. More than one lost
// in a thousand fails the run.
func Packets(cfg Config) (Result, error) {
	if cfg.Size < leastDatagram || cfg.Size > mostDatagram {
		return Result{}, fmt.Errorf("load: a datagram has %d to %d bytes", leastDatagram, mostDatagram)
	}
	if cfg.TLS || cfg.Slow > 0 || cfg.Marked > 0 {
		return Result{}, fmt.Errorf("load: datagrams within TLS, or slow ones: %w", errors.ErrUnsupported)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := &exchange{messages: newPayload(cfg.Size), size: cfg.Size, latency: newHistogram(), late: newHistogram()}
	defer x.close()
	var err error
	if x.poll, err = newPoller(); err != nil {
		return Result{}, err
	}
	for i := range cfg.Conns {
		s, err := newSocket(cfg, i)
		if err != nil {
			return Result{}, fmt.Errorf("load: socket %d: %w", i, err)
		}
		x.sockets = append(x.sockets, s)
		if err := x.poll.add(s.fd, i); err != nil {
			return Result{}, err
		}
	}
	got, err := raisePriority(cfg.Priority)
	if err != nil {
		return Result{}, err
	}
	x.pace = newPace(cfg)
	r, err := measure(cfg, x)
	r.Latency, r.Late, r.Got, r.Lost = x.latency.latencies(), x.late.latencies(), got, x.lost
	if err == nil && float64(r.Lost) > mostLost*float64(r.Count) {
		err = fmt.Errorf("load: %d of %d datagrams were lost", r.Lost, r.Count+r.Lost)
	}
	return r, err
}

func newSocket(cfg Config, id int) (*socket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, udpBuffer) // as much as it may have
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(cfg.Addr.Port()), Addr: cfg.Addr.Addr().As4()}); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("connect", err)
	}
	s := &socket{
		fd: fd, id: id, flying: make([]time.Duration, remembered), out: make([]mmsghdr, burst), in: make([]mmsghdr, burst),
		outMem: make([]byte, burst*cfg.Size), inMem: make([]byte, burst*mostDatagram),
	}
	prepare(s.out, s.outMem, cfg.Size)
	prepare(s.in, s.inMem, mostDatagram)
	return s, nil
}

// prepare points headers to pieces of memory.
func prepare(headers []mmsghdr, mem []byte, size int) {
	for i := range headers {
		v := &unix.Iovec{Base: &mem[i*size]}
		v.SetLen(size)
		headers[i].hdr.Iov = v
		headers[i].hdr.SetIovlen(1)
	}
}

func (x *exchange) close() {
	for _, s := range x.sockets {
		_ = unix.Close(s.fd)
	}
	if x.poll != nil {
		x.poll.close()
	}
}

func (x *exchange) window(d time.Duration) {
	x.pace.window(d)
	x.lost = 0
}

func (x *exchange) stop() { x.pace.stop() }

func (x *exchange) open() int {
	n := x.pace.owed()
	for _, s := range x.sockets {
		n += s.missing + s.due - s.sent
		if !x.pace.open() {
			n -= s.due - s.sent
		}
	}
	return n
}

// progress counts a loss as progress: lost datagrams no longer hold up later ones.
func (x *exchange) progress() (count, slow, bytes int64) {
	return x.received, 0, x.received*int64(x.size) + x.lostInAll
}

func (x *exchange) turn() error {
	if x.open() == 0 {
		x.heard = x.pace.now() // there is nothing to wait for
	}
	wait, err := x.begin()
	if err != nil {
		return err
	}
	events, err := x.poll.wait(min(wait, lossTime))
	if err != nil {
		return err
	}
	for i := range events {
		s := x.sockets[events[i].Fd]
		if err := x.receive(s); err != nil {
			return fmt.Errorf("load: socket %d: %w", s.id, err)
		}
	}
	if x.pace.now()-x.heard > lossTime {
		x.giveUp()
	}
	return nil
}

// begin sends the datagrams that are due, and returns the time until the next one is due.
func (x *exchange) begin() (wait time.Duration, err error) {
	wait = longestWait
	if x.pace.open() {
		for {
			number, after, ok := x.pace.next(x.pace.now())
			if !ok {
				wait = after
				break
			}
			x.sockets[number%len(x.sockets)].due++
		}
	}
	for _, s := range x.sockets {
		if !x.pace.open() {
			s.due = s.sent + max(0, x.pace.depth-s.missing)
		}
		if err := x.send(s); err != nil {
			return 0, fmt.Errorf("load: socket %d: %w", s.id, err)
		}
	}
	return wait, nil
}

// intended is when the socket's datagram with that number was to be sent.
func (x *exchange) intended(s *socket, number int, now time.Duration) time.Duration {
	if x.pace.open() {
		return x.pace.at(number*len(x.sockets) + s.id)
	}
	return now
}

// send sends the datagrams that may be sent, until the socket has no room.
func (x *exchange) send(s *socket) error {
	for s.sent < s.due && s.missing < remembered {
		n := min(s.due-s.sent, burst, remembered-s.missing)
		for i := range n {
			p := s.outMem[i*x.size : (i+1)*x.size]
			copy(p, x.messages.message(s.sent+i))
			binary.LittleEndian.PutUint64(p, uint64(s.id))
			binary.LittleEndian.PutUint64(p[8:], uint64(s.sent+i))
		}
		sent, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.out[0])), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
		case unix.EAGAIN, unix.ENOBUFS:
			return nil
		case unix.EINTR:
			continue
		default:
			return os.NewSyscallError("sendmmsg", errno)
		}
		now := x.pace.now()
		for range int(sent) {
			intended := x.intended(s, s.sent, now)
			if x.pace.open() && x.pace.measured(intended, now) {
				x.late.record(now - intended)
			}
			if s.flying[s.sent%remembered] != 0 { // many later ones have come back meanwhile
				s.missing--
				x.lost++
				x.lostInAll++
			}
			s.flying[s.sent%remembered] = max(intended, 1)
			s.sent++
			s.missing++
		}
	}
	return nil
}

// receive takes in all that has come back.
func (x *exchange) receive(s *socket) error {
	for {
		got, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.in[0])), burst, unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
		case unix.EAGAIN:
			return nil
		case unix.EINTR:
			continue
		default:
			return os.NewSyscallError("recvmmsg", errno)
		}
		now := x.pace.now()
		x.heard = now
		for i := range int(got) {
			if err := x.check(s, s.inMem[i*mostDatagram:i*mostDatagram+int(s.in[i].n)], now); err != nil {
				return err
			}
		}
		if got < burst {
			return nil
		}
	}
}

// check compares a datagram with the one that was sent.
func (x *exchange) check(s *socket, p []byte, now time.Duration) error {
	if len(p) != x.size {
		return fmt.Errorf("wrong bytes came back: %d for %d", len(p), x.size)
	}
	number := int(binary.LittleEndian.Uint64(p[8:]))
	if binary.LittleEndian.Uint64(p) != uint64(s.id) || number < 0 || number >= s.sent ||
		!bytes.Equal(p[leastDatagram:], x.messages.message(number)[leastDatagram:]) {
		return errors.New("wrong bytes came back: no datagram that was sent")
	}
	intended := s.flying[number%remembered]
	if number < s.sent-remembered || intended == 0 {
		return nil // it was given up
	}
	s.flying[number%remembered] = 0
	s.missing--
	x.received++
	if x.pace.measured(intended, now) {
		x.latency.record(now - intended)
	}
	return nil
}

// giveUp counts the datagrams in flight as lost.
func (x *exchange) giveUp() {
	x.heard = x.pace.now()
	for _, s := range x.sockets {
		x.lost += int64(s.missing)
		x.lostInAll += int64(s.missing)
		s.missing = 0
		clear(s.flying)
	}
}

package reactor

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/internal/faults"
)

// packetPayload leaves 80 bytes for control messages: IN6_PKTINFO takes 40.
const packetPayload = 128

const msgTrunc = 0x100 // MSG_TRUNC

func familyOf(sockaddr []byte) uint16 { return binary.NativeEndian.Uint16(sockaddr) }

// A controlHeader is WSACMSGHDR.
type controlHeader struct {
	len         uintptr
	level, kind int32
}

// parseControl looks for IN_PKTINFO and IN6_PKTINFO.
func (got *Packet) parseControl(p []byte) {
	const header = int(unsafe.Sizeof(controlHeader{}))
	const packetInfo = 19 // IP_PKTINFO and IPV6_PKTINFO
	for len(p) >= header {
		h := (*controlHeader)(unsafe.Pointer(unsafe.SliceData(p)))
		if h.len < uintptr(header) || h.len > uintptr(len(p)) {
			return
		}
		data := p[header:h.len]
		switch {
		case h.level == windows.IPPROTO_IP && h.kind == packetInfo && len(data) >= 8:
			got.To = netip.AddrFrom4([4]byte(data))
			got.Interface = int(binary.NativeEndian.Uint32(data[4:]))
		case h.level == windows.IPPROTO_IPV6 && h.kind == packetInfo && len(data) >= 20:
			got.To = netip.AddrFrom16([16]byte(data)).Unmap()
			got.Interface = int(binary.NativeEndian.Uint32(data[16:]))
		}
		p = p[min(len(p), (int(h.len)+header-1)/8*8):]
	}
}

// packets is the receive memory of datagrams. One goroutine at a time uses it, except mem.drop.
type packets struct {
	kernel kernel
	mem    *pool
	size   int
	whole  []uint16
	got    [maxPackets]Buffer
}

// maxPackets bounds the datagrams that one socket receives in one turn.
const maxPackets = 32

func newPackets(cfg *Config, k kernel) (*packets, error) {
	p := &packets{kernel: k, size: cfg.DatagramSize}
	var err error
	if p.mem, err = newPool(cfg.Datagrams, packetStride(cfg.DatagramSize)); err != nil {
		return nil, err
	}
	for id := cfg.Datagrams - 1; id >= 0; id-- {
		p.whole = append(p.whole, uint16(id))
	}
	return p, nil
}

// arm returns the number of free buffers, at most n.
func (p *packets) arm(n int) int { return min(n, len(p.whole)) }

// recv receives at most this many datagrams into got. ENOBUFS: all buffers are in use. all says
// that the socket may have more. An errno with datagrams belongs to later ones.
func (p *packets) recv(fd, most int) (n int, all bool, errno syscall.Errno) {
	want := p.arm(min(most, maxPackets))
	if want == 0 {
		return 0, false, syscall.ENOBUFS
	}
	for n < want {
		last := len(p.whole) - 1
		id := p.whole[last]
		p.mem.open(id)
		mem := p.mem.rest(id)
		got, errno := p.kernel.recvMsg(fd, mem, p.size)
		if errno != 0 {
			p.mem.filled(id)
			if n > 0 && errno == syscall.EAGAIN {
				errno = 0
			}
			return n, false, errno
		}
		p.whole = p.whole[:last]
		b := p.mem.took(id, packetPayload+got)
		b.packet = true
		p.mem.filled(id) // not whole: b is in use
		p.got[n] = b
		n++
	}
	return n, true, 0
}

// recvMsg receives one datagram and stores it in mem.
func (k kernel) recvMsg(fd int, mem []byte, size int) (int, syscall.Errno) {
	if _, errno := k.next(faults.RecvFrom, fd, 1); errno != 0 {
		return 0, errno
	}
	s := k.port.sockets[fd]
	if s.failed != 0 {
		errno := s.failed
		s.failed = 0
		return 0, errno
	}
	for {
		n, errno := recvMsg(fd, mem, size)
		if errno != syscall.ECONNRESET && errno != syscall.ENETRESET {
			return n, errno
		}
		// A datagram that this socket sent had no receiver. Other systems report that only on a
		// connected socket.
		if connected(fd) {
			if errno == syscall.ECONNRESET {
				errno = syscall.ECONNREFUSED
			}
			return 0, errno
		}
	}
}

func recvMsg(fd int, mem []byte, size int) (int, syscall.Errno) {
	at, err := wsaRecvMsg()
	if err != nil {
		return 0, errnoOf(err)
	}
	payload := wsaBuf(mem[packetPayload:][:size])
	msg := windows.WSAMsg{
		Name:    (*syscall.RawSockaddrAny)(unsafe.Pointer(&mem[packetName])),
		Namelen: nameRoom,
		Buffers: &payload, BufferCount: 1,
		Control: wsaBuf(mem[packetControl:][:controlRoom]),
	}
	var n uint32
	r, _, errno := syscall.SyscallN(at, uintptr(fd), uintptr(unsafe.Pointer(&msg)), uintptr(unsafe.Pointer(&n)), 0, 0)
	switch errno := winsock(r, errno); errno {
	case 0:
	case syscall.EMSGSIZE:
		n, msg.Flags = uint32(size), msg.Flags|msgTrunc
	default:
		return 0, errno
	}
	setPacketHeader(mem, uint32(msg.Namelen), msg.Control.Len, n, msg.Flags)
	return int(n), 0
}

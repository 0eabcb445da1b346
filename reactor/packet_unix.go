//go:build unix

package reactor

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const msgTrunc = unix.MSG_TRUNC

// parseControl reads control messages.
func (got *Packet) parseControl(p []byte) {
	for len(p) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(p)))
		if int(h.Len) < unix.SizeofCmsghdr || int(h.Len) > len(p) {
			return
		}
		data := p[min(unix.CmsgLen(0), int(h.Len)):h.Len]
		if h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo {
			to := netip.AddrFrom16([16]byte(data))
			got.To = to.Unmap()
			got.Interface = int(binary.NativeEndian.Uint32(data[16:]))
			if !to.Is4In6() { // else IP_PKTINFO says whether it is unicast
				got.Unicast = canSource && !to.IsMulticast()
			}
		} else {
			got.control(int(h.Level), int(h.Type), data)
		}
		p = p[min(len(p), unix.CmsgSpace(len(data))):]
	}
}

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
}

// packets is the receive memory of datagrams for reactors that make the system call themselves.
// Some of its buffers are prepared for the next call. One goroutine at a time uses it, except
// mem.drop.
type packets struct {
	kernel kernel
	mem    *pool
	size   int
	whole  []uint16

	armed int // number of messages, from the first on, that have a buffer
	msgs  [maxPackets]mmsghdr
	iovs  [maxPackets]unix.Iovec
	ids   [maxPackets]uint16
	got   [maxPackets]Buffer
	want  int // number of messages to request next: twice the last number
}

// maxPackets bounds the datagrams that one call receives.
const maxPackets = 32

func newPackets(cfg *Config, k kernel) (*packets, error) {
	p := &packets{kernel: k, size: cfg.DatagramSize, want: 4}
	var err error
	if p.mem, err = newPool(cfg.Datagrams, packetStride(cfg.DatagramSize)); err != nil {
		return nil, err
	}
	for id := cfg.Datagrams - 1; id >= 0; id-- {
		p.whole = append(p.whole, uint16(id))
	}
	return p, nil
}

// arm prepares buffers for the first n messages, or as many as there are.
func (p *packets) arm(n int) int {
	for p.armed < n && len(p.whole) > 0 {
		last := len(p.whole) - 1
		id := p.whole[last]
		p.whole = p.whole[:last]
		p.mem.open(id)
		p.lay(p.armed, id)
		p.armed++
	}
	return min(n, p.armed)
}

func (p *packets) lay(i int, id uint16) {
	mem := p.mem.rest(id)
	p.ids[i] = id
	p.iovs[i].Base = &mem[packetPayload]
	p.iovs[i].SetLen(p.size)
	h := &p.msgs[i].hdr
	h.Name, h.Namelen = &mem[packetName], nameRoom
	h.Control = &mem[packetControl]
	h.SetControllen(controlRoom)
	h.Iov = &p.iovs[i]
	h.SetIovlen(1)
}

// recv receives at most this many datagrams into got. ENOBUFS: all buffers are in use. all says
// that the socket had at least as many as requested. An errno with datagrams belongs to later ones.
func (p *packets) recv(fd, most int) (n int, all bool, errno syscall.Errno) {
	want := p.arm(min(most, p.want, maxPackets))
	if want == 0 {
		return 0, false, unix.ENOBUFS
	}
	n, errno = p.kernel.recvmmsg(fd, p.msgs[:want])
	if n <= 0 {
		return 0, false, errno
	}
	for i := range n {
		id, m := p.ids[i], &p.msgs[i]
		b := p.mem.took(id, packetPayload+int(m.n))
		b.packet = true
		setPacketHeader(b.Bytes, m.hdr.Namelen, uint32(m.hdr.Controllen), m.n, uint32(m.hdr.Flags))
		p.mem.filled(id) // not whole: b is in use
		p.got[i] = b
	}
	rest := p.armed - n // the buffers move to the front, and are prepared anew because a message's header names its buffer
	p.armed = 0
	for ; p.armed < rest; p.armed++ {
		p.lay(p.armed, p.ids[n+p.armed])
	}
	p.want = min(max(2*n, 4), maxPackets)
	return n, n == want, errno
}

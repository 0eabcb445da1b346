package packet

import (
	"net/netip"
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// A ControlMessage is what the kernel reports of a received datagram beside its sender. Each field
// is set only after the Want method of its name.
type ControlMessage struct {
	To        netip.Addr // its destination address, after WantDestination
	Interface int        // the index of the receiving interface, after WantDestination
	ECN       uint8      // its ECN bits, after WantECN: 1 ECT(1), 2 ECT(0), 3 congestion experienced
	TTL       uint8      // its TTL or hop limit, after WantTTL
	Time      time.Time  // when the kernel received it, after WantTimes
}

// WantDestination makes receives of batches set Control.To and Control.Interface. Each Want method
// costs a control message for each datagram. On Windows nothing is reported.
func (s *DatagramSocket[A]) WantDestination(on bool) error {
	return s.want(wantsDestination, on, func(fd int) error { return sock.WantDestination(fd, s.kind.Wide, on) })
}

// WantECN makes receives of batches set Control.ECN. On systems other than Linux the error of this
// method, of WantTTL, WantTimes, SetECN and SetTTL matches errors.ErrUnsupported.
func (s *DatagramSocket[A]) WantECN(on bool) error {
	return s.want(wantsECN, on, func(fd int) error { return sock.WantECN(fd, s.kind.Wide, on) })
}

// WantTTL makes receives of batches set Control.TTL.
func (s *DatagramSocket[A]) WantTTL(on bool) error {
	return s.want(wantsTTL, on, func(fd int) error { return sock.WantTTL(fd, s.kind.Wide, on) })
}

// WantTimes makes receives of batches set Control.Time.
func (s *DatagramSocket[A]) WantTimes(on bool) error {
	return s.want(wantsTimes, on, func(fd int) error { return sock.WantTimes(fd, on) })
}

// SetECN sets the ECN bits of all datagrams that are sent from now on, 0 to 3.
func (s *DatagramSocket[A]) SetECN(bits int) error {
	return s.set(func(fd int) error { return sock.SetECN(fd, s.kind.Wide, bits) })
}

// SetTTL sets the TTL, or the hop limit, of unicast datagrams, 1 to 255.
func (s *DatagramSocket[A]) SetTTL(ttl int) error {
	return s.set(func(fd int) error { return sock.SetTTL(fd, s.kind.Wide, ttl) })
}

// The bits of DatagramSocket.wants.
const (
	wantsDestination uint32 = 1 << iota
	wantsECN
	wantsTTL
	wantsTimes
)

func (s *DatagramSocket[A]) want(bit uint32, on bool, set func(fd int) error) error {
	err := s.set(set)
	switch {
	case err != nil:
	case on:
		s.wants.Or(bit)
	default:
		s.wants.And(^bit)
	}
	return err
}

// infoRooms have the memory of control messages for the receives of one call. Only sockets that
// want a ControlMessage use them.
var infoRooms = sync.Pool{New: func() any { return new(infoRoom) }}

type infoRoom [reactor.MaxMessages][arrivalControl / 8]uint64 // aligned

// prepare gives the messages room for control messages.
func (r *infoRoom) prepare(b *reactor.Messages) {
	for i := range b.Len() {
		b.SetControl(i, bytesOf(&r[i]))
	}
}

func infoOf(control []byte) ControlMessage {
	p := reactor.ParseControl(control)
	return ControlMessage{To: p.To, Interface: p.Interface, ECN: p.ECN, TTL: p.TTL, Time: timeOf(p.Time)}
}

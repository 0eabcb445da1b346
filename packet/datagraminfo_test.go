package packet_test

import "github.com/suiro-go/suiro/packet"

// A reporter is a socket with the options under test.
type reporter interface {
	WantDestination(on bool) error
	WantECN(on bool) error
	WantTTL(on bool) error
	WantTimes(on bool) error
	SetECN(bits int) error
	SetTTL(ttl int) error
}

var (
	_ reporter = (*packet.Conn)(nil)
	_ reporter = (*packet.UDPSocket)(nil)
)

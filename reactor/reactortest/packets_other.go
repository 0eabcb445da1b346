//go:build !linux && !windows

package reactortest

import (
	"net/netip"
	"testing"
	"time"
)

// segments says that a batch holds segments as one.
const segments = false

const sendersWait = false

func deadline() time.Time                                       { panic(missing) }
func packetSocket(testing.TB, string) (int, netip.AddrPort)     { panic(missing) }
func packetPair(testing.TB) (fd, peer int)                      { panic(missing) }
func connectPacket(testing.TB, int, netip.AddrPort)             { panic(missing) }
func neverFragment(testing.TB, int)                             { panic(missing) }
func wantPacketInfo(testing.TB, int, string)                    { panic(missing) }
func wantWholeSegments(testing.TB, int)                         { panic(missing) }
func listenPacket(string, netip.AddrPort) (datagramPeer, error) { panic(missing) }
func readPacket(int, []byte) (n int, ok bool)                   { panic(missing) }

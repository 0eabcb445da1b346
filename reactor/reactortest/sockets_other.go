//go:build !linux && !windows

package reactortest

import (
	"net"
	"testing"
)

// supported says that the functions below are there. They are not, for this platform, yet: Run skips.
const supported = false

const local = "unix"

func newSocket(testing.TB, string) int                               { panic(missing) }
func dialSocket(testing.TB, string, net.Addr) int                    { panic(missing) }
func listenSocket(testing.TB, string) (int, net.Addr)                { panic(missing) }
func listenAt(testing.TB, string, *net.TCPAddr, int) (int, net.Addr) { panic(missing) }
func deafAddress(testing.TB) net.Addr                                { panic(missing) }
func nobodyAddress(testing.TB) net.Addr                              { panic(missing) }
func closeSocket(int)                                                { panic(missing) }
func dupSocket(testing.TB, int) int                                  { panic(missing) }
func shrink(testing.TB, int)                                         { panic(missing) }
func cork(testing.TB, net.Conn)                                      { panic(missing) }
func sendUrgent(testing.TB, net.Conn)                                { panic(missing) }
func sendRights(testing.TB, net.Conn, string)                        { panic(missing) }
func requireModes(testing.TB, int)                                   { panic(missing) }
func descriptors(testing.TB) int                                     { panic(missing) }
func exhaust(testing.TB, int) (restore func())                       { panic(missing) }
func traps(testing.TB, int) (sprung func() bool)                     { panic(missing) }
func interruptions() (stop func())                                   { panic(missing) }
func tryRead(int, []byte) (int, error)                               { panic(missing) }
func tryWrite(int, []byte) (int, error)                              { panic(missing) }

const leavesNumbers = false

func lacksNetwork(string) string { panic(missing) }
func forgetsErrors() string      { panic(missing) }

const missing = "reactortest: no sockets for this platform yet"

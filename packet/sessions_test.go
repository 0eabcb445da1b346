package packet_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// sessionFuncs is a session handler made of functions.
type sessionFuncs struct {
	open   func(*packet.Session) error
	packet func(*packet.Session, packet.Packet) error
	close  func(*packet.Session, error)
}

func (h sessionFuncs) OnOpen(s *packet.Session) error                    { return h.open(s) }
func (h sessionFuncs) OnPacket(s *packet.Session, p packet.Packet) error { return h.packet(s, p) }
func (h sessionFuncs) OnClose(s *packet.Session, err error)              { h.close(s, err) }

func TestSessionsTellPeersApartExpireAndAreBounded(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, _ := packetFixture(t, backend, workers)
		type end struct {
			peer netip.AddrPort
			err  error
		}
		ends := make(chan end, 100)
		var opens atomic.Int64
		h := &packet.Sessions{Max: 5, Idle: 150 * time.Millisecond, Handler: sessionFuncs{
			open: func(s *packet.Session) error { opens.Add(1); s.SetValue(new(int)); return nil },
			packet: func(s *packet.Session, p packet.Packet) error {
				if string(p.Data) == "bye" {
					s.Close()
					return nil
				}
				if string(p.Data) == "fail" {
					return errTest
				}
				n := s.Value().(*int)
				*n++
				_, err := s.Write(fmt.Appendf(nil, "%s %d %v", p.Data, *n, s.Peer()))
				return err
			},
			close: func(s *packet.Session, err error) { ends <- end{s.Peer(), err} },
		}}
		handle, at := servePackets(t, f, h)
		ask := func(c *net.UDPConn, text string) (count int) {
			t.Helper()
			_, err := c.Write([]byte(text))
			require.NoError(t, err)
			p := make([]byte, 100)
			n, err := c.Read(p)
			require.NoError(t, err)
			var who, from string
			_, err = fmt.Sscanf(string(p[:n]), "%s %d %s", &who, &count, &from)
			require.NoError(t, err)
			require.Equal(t, text, who)
			require.Equal(t, c.LocalAddr().String(), from)
			return count
		}
		addrOf := func(c *net.UDPConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }
		// One peer goes on while another one, silent, expires. If the machine pauses for longer
		// than a session lives, the talker's session ends as well. Then its next session begins
		// with 1.
		silent, talker := udpClient(t, at), udpClient(t, at)
		require.Equal(t, 1, ask(silent, "a"))
		restarts, ended, talked := 0, 0, 0
		for expired := false; !expired; {
			switch n := ask(talker, "b"); {
			case n == talked+1:
				talked = n
			default:
				require.Equal(t, 1, n)
				restarts++
				talked = 1
			}
			select {
			case e := <-ends:
				requireOpError(t, e.err, "idle", os.ErrDeadlineExceeded)
				if expired = e.peer == addrOf(silent); !expired {
					require.Equal(t, addrOf(talker), e.peer)
					ended++
				}
			case <-time.After(5 * time.Millisecond):
			}
		}
		require.LessOrEqual(t, restarts, ended+1)
		require.Equal(t, 1, ask(silent, "a"), "it has another session now")

		for text, want := range map[string]error{"bye": nil, "fail": errTest} {
			c := udpClient(t, at)
			_, err := c.Write([]byte(text))
			require.NoError(t, err)
			for { // the talker may expire meanwhile
				if e := conntest.Receive(t, ends); e.peer == addrOf(c) {
					require.Equal(t, want, e.err)
					break
				}
			}
		}
		// More peers than Max send at once.
		var crowd []*net.UDPConn
		for range 12 {
			crowd = append(crowd, udpClient(t, at))
		}
		conntest.Eventually(t, func() bool {
			for _, c := range crowd {
				_, _ = c.Write([]byte("x"))
			}
			refused := make(chan uint64, 1)
			require.NoError(t, handle.Do(func(*packet.Conn) {
				require.LessOrEqual(t, h.Len(), 5)
				refused <- h.Refused()
			}))
			return conntest.Receive(t, refused) > 0
		})
		require.NoError(t, handle.Close())
		require.NoError(t, f.Wait(t.Context()))
		require.Zero(t, h.Len())
	})
}

// peersOf makes n clients. Each sends a datagram to a socket, and waits for the answer.
func peersOf(t *testing.T, at netip.AddrPort, n int) (all []*net.UDPConn) {
	t.Helper()
	for range n {
		c := udpClient(t, at)
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 10))
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

func respond(s *packet.Session, p packet.Packet) error {
	_, err := s.Write(p.Data)
	return err
}

// Several sockets, each on its own worker, may share one Sessions. A peer has a session on each of
// them. Max is for all sockets together.
func TestSocketsThatShareSessionsHaveTheirOwn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, _ := packetFixture(t, backend, workers)
		const each, most = 30, 100
		var opens, closes atomic.Int64
		h := &packet.Sessions{Max: most, Handler: sessionFuncs{
			open:   func(*packet.Session) error { opens.Add(1); return nil },
			packet: respond,
			close:  func(*packet.Session, error) { closes.Add(1) },
		}}
		var handles []packet.Handle
		var crowd []*net.UDPConn
		var at []netip.AddrPort
		for range 4 {
			handle, addr := servePackets(t, f, h)
			handles, at = append(handles, handle), append(at, addr)
		}
		for i := range handles {
			if i < 3 {
				crowd = append(crowd, peersOf(t, at[i], each)...)
			}
		}
		require.Equal(t, 3*each, h.Len())
		conntest.Each(t, 3, func(i int) error { // all sockets at once
			for range 20 {
				for _, c := range crowd[i*each : (i+1)*each] {
					if _, err := c.Write([]byte("y")); err != nil {
						return err
					}
					if _, err := c.Read(make([]byte, 10)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		require.EqualValues(t, 3*each, opens.Load(), "the sockets do not take each other's")
		peersOf(t, at[3], most-3*each)
		_, err := udpClient(t, at[3]).Write([]byte("z"))
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return h.Refused() > 0 })
		found := make(chan bool, 1)
		require.NoError(t, handles[0].Do(func(c *packet.Conn) {
			peer := crowd[0].LocalAddr().(*net.UDPAddr).AddrPort()
			s := h.Session(c, peer)
			found <- s != nil && s.Peer() == peer && s.Conn() == c && h.Session(c, mapped(peer)) == s && h.Session(c, netip.MustParseAddrPort("192.0.2.1:1")) == nil
		}))
		require.True(t, conntest.Receive(t, found))
		for i, handle := range handles {
			require.NoError(t, handle.Close())
			if i == 0 {
				conntest.Eventually(t, func() bool { return h.Len() == most-each }, "the others' sessions stay")
			}
		}
		require.NoError(t, f.Wait(t.Context()))
		require.Zero(t, h.Len())
		require.Equal(t, opens.Load(), closes.Load())
	})
}

// When the socket has ended, a panic or an exit in one session's OnClose does not prevent the calls
// for the others.
func TestOnCloseOfEachSessionIsCalledThoughAnotherFails(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	for name, fail := range map[string]func(){
		"panics":          func() { panic("told") },
		"panics with nil": func() { panic(nil) },
		"exits":           runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				f, _ := packetFixture(t, backend, 1)
				var closes atomic.Int64
				h := &packet.Sessions{Handler: sessionFuncs{
					open:   func(*packet.Session) error { return nil },
					packet: respond,
					close: func(*packet.Session, error) {
						if closes.Add(1)%2 == 1 {
							fail()
						}
					},
				}}
				handle, at := servePackets(t, f, h)
				peersOf(t, at, 5)
				require.NoError(t, handle.Close())
				require.NoError(t, f.Wait(t.Context()))
				require.EqualValues(t, 5, closes.Load())
				if name != "exits" {
					require.Equal(t, 3, f.log.Count("handler panicked"))
				}
			})
		})
	}
}

// pausedFixture is a fixture whose clock moves only by Advance.
func pausedFixture(t *testing.T, backend string) *fixture {
	t.Helper()
	f := &fixture{t: t, log: &conntest.Log{}}
	cfg := conn.Config{Logger: f.log.Logger()}
	cfg.Reactor.Backend = backend
	var err error
	f.Group, err = conn.NewGroup(cfg, sched.Config{Workers: 1, Paused: true})
	require.NoError(t, err)
	f.Runtime().HoldClock()
	t.Cleanup(f.close)
	t.Cleanup(func() {
		f.Abort()
		conntest.Eventually(t, func() bool {
			f.Runtime().Advance(time.Millisecond) // a socket ends in a later tick
			return f.Len() == 0
		})
		f.Runtime().ReleaseClock()
	})
	return f
}

// With CountSent a session lives as long as datagrams go in either direction.
func TestSentDatagramsKeepSessionsIfTheyCount(t *testing.T) {
	const idle = time.Minute
	for name, send := range map[string]func(s *packet.Session, c *packet.Conn) error{
		"Session.Write": func(s *packet.Session, _ *packet.Conn) error { _, err := s.Write([]byte("x")); return err },
		"WriteTo":       func(s *packet.Session, c *packet.Conn) error { return c.WriteTo([]byte("x"), s.Peer()) },
		"mapped":        func(s *packet.Session, c *packet.Conn) error { return c.WriteTo([]byte("x"), mapped(s.Peer())) },
		"Handle.Send":   func(s *packet.Session, c *packet.Conn) error { return c.Handle().Send([]byte("x"), s.Peer()) },
	} {
		for _, counts := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %v", name, counts), func(t *testing.T) {
				conntest.Backends(t, func(t *testing.T, backend string) {
					f := pausedFixture(t, backend)
					ended := make(chan error, 1)
					h := &packet.Sessions{Idle: idle, CountSent: counts, Handler: sessionFuncs{
						open:   func(*packet.Session) error { return nil },
						packet: respond,
						close:  func(_ *packet.Session, err error) { ended <- err },
					}}
					handle, at := servePackets(t, f, h)
					c := peersOf(t, at, 1)[0]
					peer := c.LocalAddr().(*net.UDPAddr).AddrPort()
					f.Runtime().Advance(idle / 2)
					require.NoError(t, handle.Do(func(c *packet.Conn) { _ = send(h.Session(c, peer), c) }))
					_, err := c.Read(make([]byte, 10))
					require.NoError(t, err)
					f.Runtime().Advance(idle / 2)
					if counts {
						done := make(chan int, 1)
						f.rounds(3) // the timer has fired
						require.NoError(t, handle.Do(func(*packet.Conn) { done <- h.Len() }))
						require.Equal(t, 1, conntest.Receive(t, done), "it was idle for half of the time")
						f.Runtime().Advance(idle / 2)
					}
					requireOpError(t, conntest.Receive(t, ended), "idle", os.ErrDeadlineExceeded)
				})
			})
		}
	}
}

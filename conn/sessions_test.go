package conn_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// sessionFuncs is a session handler of functions.
type sessionFuncs struct {
	open   func(*conn.Session) error
	packet func(*conn.Session, conn.Packet) error
	close  func(*conn.Session, error)
}

func (h sessionFuncs) OnOpen(s *conn.Session) error                  { return h.open(s) }
func (h sessionFuncs) OnPacket(s *conn.Session, p conn.Packet) error { return h.packet(s, p) }
func (h sessionFuncs) OnClose(s *conn.Session, err error)            { h.close(s, err) }

func TestSessionsTellPeersApartExpireAndAreBounded(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, _ := packetFixture(t, backend, workers)
		type end struct {
			peer netip.AddrPort
			err  error
		}
		ends := make(chan end, 100)
		var opens atomic.Int64
		h := &conn.Sessions{Max: 5, Idle: 150 * time.Millisecond, Handler: sessionFuncs{
			open: func(s *conn.Session) error { opens.Add(1); s.SetValue(new(int)); return nil },
			packet: func(s *conn.Session, p conn.Packet) error {
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
			close: func(s *conn.Session, err error) { ends <- end{s.Peer(), err} },
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
		// One of them talks on while another one, silent, expires. Where the machine stands still for longer
		// than a session's life, the talker's ends as well, and then it has another, from 1.
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
		// More peers than there may be sessions, at once.
		var crowd []*net.UDPConn
		for range 12 {
			crowd = append(crowd, udpClient(t, at))
		}
		conntest.Eventually(t, func() bool {
			for _, c := range crowd {
				_, _ = c.Write([]byte("x"))
			}
			refused := make(chan uint64, 1)
			require.NoError(t, handle.Do(func(*conn.PacketConn) {
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

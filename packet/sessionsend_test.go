package packet_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// failing ends its socket after the first batch.
type failing struct {
	*packet.Sessions
	end func(c *packet.Conn) error
}

func (h failing) OnPackets(c *packet.Conn, batch []packet.Packet) error {
	if err := h.Sessions.OnPackets(c, batch); err != nil {
		return err
	}
	return h.end(c)
}

// However a socket ends, the error of its sessions matches net.ErrClosed, as documented. Only that
// of an idle session matches os.ErrDeadlineExceeded.
func TestSessionsOfASocketThatHasEndedGetErrClosed(t *testing.T) {
	late := fmt.Errorf("later: %w", os.ErrDeadlineExceeded)
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := packetFixture(t, backend, 1)
		for name, c := range map[string]struct {
			end func(c *packet.Conn) error
			is  error // nil: only net.ErrClosed
		}{
			"Close":      {func(c *packet.Conn) error { return c.Close() }, nil},
			"Abort":      {func(c *packet.Conn) error { c.Abort(); return nil }, nil},
			"an error":   {func(*packet.Conn) error { return errTest }, errTest},
			"a deadline": {func(*packet.Conn) error { return late }, nil},
			"a panic":    {func(*packet.Conn) error { panic(errTest) }, errTest},
		} {
			ended := make(chan error, 2)
			callbacks := sessionFuncs{
				open:   func(*packet.Session) error { return nil },
				packet: func(*packet.Session, packet.Packet) error { return nil },
				close:  func(_ *packet.Session, err error) { ended <- err },
			}
			tasks := packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
				_, err := p.Recv(cx, make([]byte, 10))
				for err == nil {
					_, err = p.Recv(cx, make([]byte, 10))
				}
				ended <- err
				return nil
			})
			for _, h := range []packet.SessionHandler{callbacks, tasks} {
				_, at := servePackets(t, f, failing{&packet.Sessions{Handler: h}, c.end})
				_, err := udpClient(t, at).Write([]byte("x"))
				require.NoError(t, err)
				err = conntest.Receive(t, ended, name)
				require.ErrorIs(t, err, net.ErrClosed, name)
				require.NotErrorIs(t, err, os.ErrDeadlineExceeded, name)
				if c.is != nil {
					var p *packet.PanicError
					require.True(t, errors.Is(err, c.is) || errors.As(err, &p) && p.Value == c.is, "%s: %v", name, err)
				}
			}
		}
	})
}

// A session that closes its socket gets no further datagram, and no session is opened, although the
// batch has more datagrams.
func TestASocketThatASessionHasClosedOpensNoOther(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, end := range map[string]func(c *packet.Conn){
			"Close": func(c *packet.Conn) { _ = c.Close() },
			"Abort": func(c *packet.Conn) { c.Abort() },
		} {
			for _, early := range []bool{true, false} { // in OnOpen, or in OnPacket
				f, _ := packetFixture(t, backend, 1)
				var opens, packets, closes int // of the worker, until the socket has ended
				handle, at := servePackets(t, f, &packet.Sessions{Handler: sessionFuncs{
					open: func(s *packet.Session) error {
						if opens++; early {
							end(s.Conn())
						}
						return nil
					},
					packet: func(s *packet.Session, _ packet.Packet) error {
						packets++
						end(s.Conn())
						return nil
					},
					close: func(*packet.Session, error) { closes++ },
				}})
				blocked, goOn := make(chan bool), make(chan bool)
				require.NoError(t, handle.Do(func(*packet.Conn) { close(blocked); <-goOn }))
				conntest.Receive(t, blocked)
				for range 3 { // one batch
					c := udpClient(t, at)
					for range 2 {
						_, err := c.Write([]byte("x"))
						require.NoError(t, err)
					}
				}
				close(goOn)
				require.NoError(t, f.Wait(t.Context()))
				want := []int{1, 1, 1}
				if early {
					want[1] = 0
				}
				require.Equal(t, want, []int{opens, packets, closes}, "%s early %v", name, early)
			}
		}
	})
}

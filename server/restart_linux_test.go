package server_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// killed is what the test binary does as a program that is killed while it serves.
// ownAddr is one from which no other program connects: while nobody listens there, its port is
// not given to a client that was told 127.0.0.1.
const ownAddr = "127.77.83.1:0"

func killed(t *testing.T, network, backend string) {
	s := &server.Server{Network: network, Addr: ownAddr, Handler: echo{}, Packets: packetEcho{}, Backend: backend}
	s.Listening = func(a net.Addr) { fmt.Println(a) }
	t.Fatal(s.ListenAndServe())
}

// io_uring lets go of a killed process's sockets some time after the process has ended.
func TestAServerStartsWhereOneWasKilled(t *testing.T) {
	if args := os.Getenv("SERVER_TEST_KILLED"); args != "" {
		network, backend, _ := strings.Cut(args, " ")
		killed(t, network, backend)
		return
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, network := range []string{"tcp", "udp"} {
			for range 3 {
				cmd := exec.Command(os.Args[0], "-test.run=^TestAServerStartsWhereOneWasKilled$")
				cmd.Env = append(os.Environ(), "SERVER_TEST_KILLED="+network+" "+backend)
				out, err := cmd.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				addr, err := bufio.NewReader(out).ReadString('\n')
				require.NoError(t, err)
				addr = strings.TrimSpace(addr)
				c, err := net.Dial(network, addr)
				require.NoError(t, err)
				roundTrip(t, c, "hello")
				require.NoError(t, c.Close())
				require.NoError(t, cmd.Process.Kill())
				require.Error(t, cmd.Wait())
				s := run(t, &server.Server{Network: network, Addr: addr, Handler: echo{}, Packets: packetEcho{}, Backend: backend})
				roundTrip(t, s.dial(), "hello again")
				require.NoError(t, s.Close())
			}
		}
	})
}

// stuck holds its worker up until it is let go.
type stuck struct {
	server.Base
	begun, done chan struct{}
}

func (h stuck) OnData(c *server.Conn) error {
	close(h.begun)
	<-h.done
	return c.Close()
}

// A program may exit as soon as ListenAndServe has returned.
func TestThePortIsFreeWhenServeReturns(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := stuck{begun: make(chan struct{}), done: make(chan struct{})}
		s := run(t, &server.Server{Addr: ownAddr, Handler: h, Backend: backend, Workers: 1})
		c := s.dial()
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		conntest.Receive(t, h.begun)
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		var served error
		select {
		case served = <-s.served:
		case <-time.After(50 * time.Millisecond): // it waits for the listener, which waits for the worker
		}
		if served != nil {
			ln, err := net.Listen("tcp", s.addr.String())
			close(h.done)
			require.NoError(t, err, "Serve has returned and the port is taken")
			require.NoError(t, ln.Close())
			return
		}
		close(h.done)
		require.Equal(t, server.ErrServerClosed, conntest.Receive(t, s.served))
		ln, err := net.Listen("tcp", s.addr.String())
		require.NoError(t, err)
		require.NoError(t, ln.Close())
		require.NoError(t, conntest.Receive(t, closed))
	})
}

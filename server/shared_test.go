package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// sharedGroup is a group that lives until the end of the test.
func sharedGroup(t *testing.T, backend string, workers int) *conn.Group {
	t.Helper()
	cfg := conn.Config{Reactor: reactor.Config{Backend: backend}, LingerTimeout: 200 * time.Millisecond}
	cfg.Logger = (&conntest.Log{}).Logger()
	g, err := conn.NewGroup(cfg, sched.Config{Workers: workers})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Stop(context.Background())) })
	return g
}

// runOn serves s on a group until the end of the test.
func runOn(t *testing.T, g *conn.Group, s *server.Server) *running {
	t.Helper()
	r := &running{Server: s, t: t, served: make(chan error, 1)}
	s.On, s.Addr = g, "127.0.0.1:0"
	listening := make(chan net.Addr, 1)
	s.Listening = func(a net.Addr) { listening <- a }
	go func() { r.served <- s.ListenAndServe() }()
	select {
	case r.addr = <-listening:
	case err := <-r.served:
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return r
}

type echoPackets struct{ server.PacketBase }

func (echoPackets) OnPackets(c *server.PacketConn, batch []server.Packet) error {
	for _, p := range batch {
		if err := c.WriteTo(p.Data, p.From); err != nil {
			return err
		}
	}
	return nil
}

func askHello(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	p, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, "hello", string(p))
}

func TestServersShareTheWorkersOfAGroup(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	say := func(t *testing.T, c net.Conn) { roundTrip(t, c, "x") }
	for _, kind := range []struct {
		name string
		make func() *server.Server
		use  func(t *testing.T, c net.Conn)
	}{
		{"TCP", func() *server.Server { return &server.Server{Handler: echo{}} }, say},
		{"UDP", func() *server.Server { return &server.Server{Network: "udp", Packets: echoPackets{}} }, say},
		{"HTTP", func() *server.Server { return &server.Server{Handler: server.HTTP(hello)} }, askHello},
	} {
		for end, stop := range map[string]func(s *running) error{
			"Shutdown": func(s *running) error { return s.Shutdown(context.Background()) },
			"Close":    closeNow,
		} {
			t.Run(kind.name+" "+end, func(t *testing.T) {
				conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
					g := sharedGroup(t, backend, workers)
					a, b := runOn(t, g, kind.make()), runOn(t, g, kind.make())
					require.Same(t, g, a.Group())
					ofA, ofB := a.dial(), b.dial()
					kind.use(t, ofA)
					kind.use(t, ofB)
					require.Equal(t, 2, g.Len())
					require.NoError(t, stop(a))
					require.Equal(t, server.ErrServerClosed, conntest.Receive(t, a.served))
					left := func(n int) { // the group counts until right after OnClose
						conntest.Eventually(t, func() bool { return g.Len() == n })
					}
					left(1)
					requireUnreachable(t, a.addr)
					kind.use(t, ofB)
					kind.use(t, b.dial())
					require.NoError(t, stop(b))
					left(0)
					select {
					case <-g.Runtime().Done():
						t.Fatal("the workers have ended")
					default:
					}
					c := runOn(t, g, kind.make())
					kind.use(t, c.dial())
				})
			})
		}
	}
}

func TestListenOnASharedGroup(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		g := sharedGroup(t, backend, workers)
		s := &server.Server{On: g}
		ln, err := s.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		c, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		accepted, err := ln.Accept()
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, s.Shutdown(ctx), context.DeadlineExceeded)
		_, err = accepted.Read(make([]byte, 1))
		require.Error(t, err)
		conntest.Eventually(t, func() bool { return g.Len() == 0 })
	})
}

func TestShutdownOnASharedGroupReturnsThoughAHandlerNeverDoes(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		g := sharedGroup(t, backend, workers)
		h := newTrap()
		s := runOn(t, g, &server.Server{Handler: h})
		writeByte(t, s.dial())
		conntest.Receive(t, h.caught)
		err := shutdownSoon(s)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, conn.ErrStuck)
		h.release()
		conntest.Eventually(t, func() bool { return g.Len() == 0 })
	})
}

func TestAServerOnAGroupRefusesWhatIsTheGroups(t *testing.T) {
	g := sharedGroup(t, "", 1)
	for name, s := range map[string]*server.Server{
		"Backend":    {Backend: "epoll"},
		"Workers":    {Workers: 1},
		"Tuning":     {Tuning: server.Tuning{Hold: 1}},
		"ConnConfig": {ConnConfig: conn.Config{MaxConns: 1}},
		"Logger":     {Logger: slog.Default()},
		"Tickers":    {Tickers: []server.Ticker{{Every: 1, Do: func(*sched.Context) {}}}},
	} {
		s.On, s.Handler, s.Addr = g, echo{}, "127.0.0.1:0"
		err := s.ListenAndServe()
		require.ErrorContains(t, err, "On and "+name+" ")
		require.False(t, errors.Is(err, server.ErrServerClosed))
	}
}

// Two servers, one for callbacks and one for HTTP, on the same two workers.
func ExampleServer_on() {
	group, err := conn.NewGroup(conn.Config{Logger: slog.New(slog.DiscardHandler)}, sched.Config{Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	site := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	for _, s := range []*server.Server{{Handler: echo{}}, {Handler: server.HTTP(site)}} {
		s.On, s.Addr = group, "127.0.0.1:0"
		s.Listening = func(net.Addr) { go func() { _ = s.Shutdown(context.Background()) }() }
		fmt.Println(s.ListenAndServe()) // the group goes on
	}
	fmt.Println(group.Stop(context.Background()))
	// Output:
	// server: closed by Shutdown or Close
	// server: closed by Shutdown or Close
	// <nil>
}

package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// looped is the sequential echo.
func looped(_ *sched.Context, s *server.Stream) error {
	_, err := io.Copy(struct{ io.Writer }{s}, struct{ io.Reader }{s})
	return err
}

func peered(cx *sched.Context, p *server.Peer) error {
	b := make([]byte, 64)
	for {
		n, err := p.Recv(cx, b)
		if err != nil {
			return err
		}
		if err := p.Send(b[:n]); err != nil {
			return err
		}
	}
}

// later makes its connections sequential itself.
type later struct{ echo }

func (later) Stackful() bool { return true }

func (later) OnOpen(c *server.Conn) error {
	h := server.Sequential(looped)
	_ = c.SetHandler(h)
	return h.OnOpen(c)
}

// relayed has sessions of its own.
type relayed struct{ *server.Sessions }

// callbacksOf is a session handler of callbacks.
type callbacksOf struct{ server.SessionHandler }

// bestBackend is what servers with callbacks get.
func bestBackend(t *testing.T) string {
	t.Helper()
	cfg, err := reactor.Select(reactor.Config{}, nil)
	require.NoError(t, err)
	return cfg.Backend
}

func TestServersOfCoroutinesRunOnEpollUnlessABackendIsChosen(t *testing.T) {
	t.Setenv(reactor.EnvBackend, "")
	of, _ := httpsConfig(t)
	proxy := &server.ProxyProtocol{Trust: proxyproto.Trust{}}
	tasks := func() *server.Sessions { return &server.Sessions{Handler: server.SessionTasks(peered)} }
	for name, c := range map[string]struct {
		server *server.Server
		epoll  bool
	}{
		"sequential":                  {&server.Server{Handler: server.Sequential(looped)}, true},
		"wrapped":                     {&server.Server{Handler: &tallied{Handler: &tallied{Handler: server.Sequential(looped)}}}, true},
		"within TLS":                  {&server.Server{Handler: server.Sequential(looped), TLS: of.Clone()}, true},
		"within ServeTLS":             {&server.Server{Handler: conn.ServeTLS(conn.TLSConfig{Config: of}, &tallied{Handler: server.Sequential(looped)})}, true},
		"with a header":               {&server.Server{Handler: server.Sequential(looped), Proxy: proxy}, true},
		"within a ProxyProtocol":      {&server.Server{Handler: proxy.Handler(server.Sequential(looped))}, true},
		"sequential later":            {&server.Server{Handler: &tallied{Handler: later{}}}, true},
		"tasks of peers":              {&server.Server{Network: "udp", Packets: tasks()}, true},
		"tasks of peers, embedded":    {&server.Server{Network: "udp", Packets: relayed{tasks()}}, true},
		"tasks of peers, and streams": {&server.Server{Handler: echo{}, Packets: tasks()}, true},
		"callbacks":                   {&server.Server{Handler: &tallied{Handler: echo{}}}, false},
		"callbacks within TLS":        {&server.Server{Handler: conn.ServeTLS(conn.TLSConfig{Config: of}, echo{})}, false},
		"callbacks with a header":     {&server.Server{Handler: proxy.Handler(echo{})}, false},
		"callbacks of peers":          {&server.Server{Network: "udp", Packets: &server.Sessions{Handler: callbacksOf{}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			want := bestBackend(t)
			if c.epoll {
				want = "epoll"
			}
			require.Equal(t, want, run(t, c.server).Group().Backend())
		})
	}
}

func TestAServerOfTasksRunsOnEpollUnlessABackendIsChosen(t *testing.T) {
	t.Setenv(reactor.EnvBackend, "")
	for name, listen := range map[string]func(*server.Server) (io.Closer, error){
		"streams":   func(s *server.Server) (io.Closer, error) { return s.ListenStream("tcp", "127.0.0.1:0") },
		"datagrams": func(s *server.Server) (io.Closer, error) { return s.ListenUDP("udp", "127.0.0.1:0") },
	} {
		for _, chosen := range append(reactor.Backends(), "") {
			t.Run(name+" "+chosen, func(t *testing.T) {
				s := &server.Server{Backend: chosen}
				_, err := listen(s)
				if chosen != "" && errors.Is(err, errors.ErrUnsupported) {
					t.Skip(err)
				}
				require.NoError(t, err)
				want := chosen
				if want == "" {
					want = "epoll"
				}
				assert.Equal(t, want, s.Group().Backend())
				require.NoError(t, s.Close())
			})
		}
	}
}

func TestASequentialServerHasTheBackendThatWasChosen(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, s := range map[string]*server.Server{
			"by the server":          {Handler: server.Sequential(looped), Backend: backend},
			"by the server, wrapped": {Handler: &tallied{Handler: server.Sequential(looped)}, Backend: backend},
			"by the environment":     {Handler: server.Sequential(looped)},
		} {
			t.Run(name, func(t *testing.T) {
				if s.Backend == "" {
					t.Setenv(reactor.EnvBackend, backend)
				}
				r := run(t, s)
				require.Equal(t, backend, r.Group().Backend())
				roundTrip(t, r.dial(), "x")
			})
		}
	})
}

// A group is chosen by its owner, since handlers of different kinds share it.
func TestASequentialAndACallbackServerShareAGroup(t *testing.T) {
	t.Setenv(reactor.EnvBackend, "")
	for name, c := range map[string]struct {
		cfg  reactor.Config
		want string
	}{
		"of the best backend": {reactor.Config{}, bestBackend(t)},
		"that moves tasks":    {reactor.Config{AnyThread: true}, "epoll"},
	} {
		t.Run(name, func(t *testing.T) {
			group, err := conn.NewGroup(conn.Config{Reactor: c.cfg, Logger: (&conntest.Log{}).Logger()}, sched.Config{Workers: 2})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, group.Stop(context.Background())) })
			require.Equal(t, c.want, group.Backend())
			var all []net.Conn
			for _, h := range []server.Handler{server.Sequential(looped), echo{}} {
				r := runOn(t, group, &server.Server{Handler: h})
				require.Equal(t, c.want, r.Group().Backend())
				for range 4 {
					all = append(all, r.dial())
				}
			}
			for range 3 {
				for _, c := range all {
					roundTrip(t, c, "x")
				}
			}
		})
	}
}

// On io_uring the first connection's function could not go on: its coroutine is tied to the worker.
func TestASequentialServerIsNotStuckByDefault(t *testing.T) {
	t.Setenv(reactor.EnvBackend, "")
	free, in := make(chan struct{}), make(chan struct{}, 1)
	release := sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	s := run(t, &server.Server{Workers: 1, Spares: 1, Handler: server.Sequential(func(_ *sched.Context, s *server.Stream) error {
		b := make([]byte, 1)
		for {
			if _, err := s.Read(b); err != nil {
				return nil
			}
			switch b[0] {
			case 'b':
				in <- struct{}{}
				<-free
			case 'f':
				release()
			}
			if _, err := s.Write(b); err != nil {
				return err
			}
		}
	})})
	first, second := s.dial(), s.dial()
	roundTrip(t, first, "x")
	roundTrip(t, second, "x")
	_, err := io.WriteString(second, "b")
	require.NoError(t, err)
	conntest.Receive(t, in)
	roundTrip(t, first, "f")
	b := make([]byte, 1)
	_, err = io.ReadFull(second, b)
	require.NoError(t, err)
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A sweep runs the proxy for one client, again and again, and ends each run at another wait.
type sweep struct {
	group  *conn.Group
	target net.Addr
	now    atomic.Pointer[run]
	serves atomic.Int32 // connections of the target

	descriptors int // sockets and pipes that are open between runs

	mu       sync.Mutex
	upstream *net.TCPConn // the target's side of its last connection
}

// A run is one client's.
type run struct {
	at      int32 // the wait at which it is ended; 0: none
	waits   atomic.Int32
	reached chan struct{} // closed when that wait begins
	goOn    chan struct{} // closed when it was ended, or ended by itself

	server *server.Server
	client *net.TCPConn
	stream atomic.Pointer[server.Stream] // the handler's; nil: it was not called yet
}

// polled is a hook: a task is about to wait, or has ended. It does neither before the run is ended.
func (w *sweep) polled(int, sched.TaskID) {
	if r := w.now.Load(); r != nil && r.waits.Add(1) == r.at {
		close(r.reached)
		<-r.goOn
	}
}

// ends are ways to end a run. None of them waits for a worker.
var ends = map[string]func(w *sweep, r *run){
	"the client resets": func(_ *sweep, r *run) {
		_ = r.client.SetLinger(0)
		_ = r.client.Close()
	},
	"the target resets": func(w *sweep, _ *run) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.upstream != nil {
			_ = w.upstream.SetLinger(0)
			_ = w.upstream.Close()
		}
	},
	"the connection is aborted": func(_ *sweep, r *run) {
		if s := r.stream.Load(); s != nil {
			s.Abort()
		}
	},
	"the server closes": func(_ *sweep, r *run) { go func() { _ = r.server.Close() }() },
	"the server gives up a shutdown": func(_ *sweep, r *run) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		go func() { _ = r.server.Shutdown(ctx) }()
	},
}

// talk is a client that waits for each answer, and then gets its own bytes back.
func (w *sweep) talk(c net.Conn, data []byte) error {
	p := make([]byte, len(agreed+answer(succeeded)))
	for _, step := range []struct {
		says string
		gets int
	}{{greeting, len(agreed)}, {named("here.test", w.target), len(answer(succeeded))}} {
		if _, err := io.WriteString(c, step.says); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, p[:step.gets]); err != nil {
			return err
		}
	}
	send(c.(*net.TCPConn), data)
	got, err := io.ReadAll(c)
	switch {
	case err != nil:
		return err
	case len(got) < len(data):
		return io.ErrUnexpectedEOF
	case !bytes.Equal(got, data):
		return errors.New("other bytes came back")
	}
	return nil
}

// run serves one client, up to an end at a wait. It returns how often
// tasks waited, and why the client did not get its bytes back.
func (w *sweep) run(t *testing.T, data []byte, at int32, end func(*sweep, *run)) (waits int32, err error) {
	t.Helper()
	w.mu.Lock()
	w.upstream = nil
	w.mu.Unlock()
	r := &run{at: at, reached: make(chan struct{}), goOn: make(chan struct{})}
	listening := make(chan net.Addr, 1)
	r.server = &server.Server{On: w.group, Addr: "127.0.0.1:0", Listening: func(a net.Addr) { listening <- a }}
	p := &proxy{dialer: server.Dialer{Group: r.server.Group, Resolver: &hosts{}}, handshake: conntest.Patience}
	r.server.Handler = server.Sequential(func(cx *sched.Context, s *server.Stream) error {
		r.stream.Store(s)
		return p.serve(cx, s)
	})
	served, talked := make(chan error, 1), make(chan error, 1)
	go func() { served <- r.server.ListenAndServe() }()
	r.client = dial(t, conntest.Receive(t, listening))
	w.now.Store(r)
	go func() { talked <- w.talk(r.client, data) }()
	select {
	case <-r.reached:
		end(w, r)
		close(r.goOn)
		err = conntest.Receive(t, talked)
	case err = <-talked:
		close(r.goOn)
	}
	_ = r.client.Close()
	_ = r.server.Close()
	require.ErrorIs(t, conntest.Receive(t, served), server.ErrServerClosed)
	left := func() string {
		rt := w.group.Runtime()
		return fmt.Sprintf("%d connections, %d tasks, %d coroutines, %d of the target, %d descriptors",
			w.group.Len(), rt.Tasks(), rt.Stats().Total.Coroutines, w.serves.Load(), max(0, socketsAndPipes()-w.descriptors))
	}
	const nothing = "0 connections, 0 tasks, 0 coroutines, 0 of the target, 0 descriptors"
	conntest.Eventually(t, func() bool { return left() == nothing }, left)
	w.now.Store(nil)
	return r.waits.Load(), err
}

// socketsAndPipes counts descriptors. A reactor makes others when they are first needed.
func socketsAndPipes() (n int) {
	for _, d := range conntest.Descriptors() {
		if strings.Contains(d, ":socket:") || strings.Contains(d, ":pipe:") {
			n++
		}
	}
	return n
}

// Wherever the proxy waits, either peer or the server may end the connection. Then nothing is left.
func TestAConnectionMayEndAtEveryWait(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		w := &sweep{}
		w.target = conntest.Serve(t, func(c net.Conn) {
			w.serves.Add(1)
			defer w.serves.Add(-1)
			w.mu.Lock()
			w.upstream = c.(*net.TCPConn)
			w.mu.Unlock()
			conntest.Echo(c)
			_ = c.Close()
		})
		cfg := conn.Config{}
		cfg.Reactor.Backend, cfg.Reactor.AnyThread = backend, true
		g, err := conn.NewGroup(cfg, sched.Config{Workers: workers, Hooks: sched.Hooks{TaskPollEnd: w.polled}})
		require.NoError(t, err)
		w.group = g
		data := noise(100_000, 1)
		w.descriptors = socketsAndPipes() + 10 // the first run opens some that the group keeps
		waits, err := w.run(t, data, 0, nil)
		require.NoError(t, err, "without an end")
		require.Greater(t, waits, int32(4), "it waits for greeting, request, dial and splice")
		w.descriptors = socketsAndPipes()
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				for at := range waits + 5 { // others may have more
					_, err := w.run(t, data, at+1, end)
					var broken *net.OpError
					require.True(t, err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &broken), "at wait %d: %v", at+1, err)
				}
			})
		}
		require.NoError(t, g.Close())
	})
}

package packet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A fixture is a group and its log.
type fixture struct {
	*conn.Group
	t   *testing.T
	log *conntest.Log
}

// newFixture makes a group.
func newFixture(t *testing.T, backend string, workers int, configure ...func(*conn.Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, log: &conntest.Log{}}
	cfg := conn.Config{Logger: f.log.Logger()}
	cfg.Reactor.Backend = backend
	for _, c := range configure {
		c(&cfg)
	}
	var err error
	f.Group, err = conn.NewGroup(cfg, sched.Config{Workers: workers})
	require.NoError(t, err)
	require.Equal(t, backend, f.Backend())
	t.Cleanup(f.close)
	return f
}

func (f *fixture) close() {
	f.Abort()
	ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
	defer cancel()
	if err := f.Wait(ctx); err != nil {
		f.t.Errorf("waiting for the sockets: %v\n%s", err, conntest.Dump())
	}
	require.Zero(f.t, f.Len())
	require.NoError(f.t, f.Group.Close())
}

// A life counts the calls of a handler's methods.
type life struct{ opens, closes, running atomic.Int32 }

// requireOpError checks that an error is a *net.OpError, and what it matches.
func requireOpError(t *testing.T, err error, op string, is ...error) {
	t.Helper()
	var oe *net.OpError
	require.ErrorAs(t, err, &oe)
	require.Equal(t, op, oe.Op)
	for _, target := range is {
		require.ErrorIs(t, conn.Portable(err), target) // Portable is for errors of package net
	}
}

// skipNetOnWindows skips tests that compare with package net. On Windows its connections differ
// from those of other systems, in errors and in empty reads.
func skipNetOnWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("package net differs on Windows")
	}
}

func logOf(f *fixture) *conntest.Log { return f.Logger().Handler().(*conntest.Log) }

func atDebug(cfg *conn.Config) { cfg.Logger = slog.New(&conntest.Log{Level: slog.LevelDebug}) }

// rawOf is the RawConn of a connection.
func rawOf(t *testing.T, c any) syscall.RawConn {
	t.Helper()
	sc, ok := c.(syscall.Conn)
	require.True(t, ok, "a %T has no SyscallConn", c)
	raw, err := sc.SyscallConn()
	require.NoError(t, err)
	return raw
}

// numbered is a datagram that differs from all others.
func numbered(client, i int) []byte {
	at := (client*7919 + i*31) % (len(noise) - 2000)
	return append(fmt.Appendf(nil, "%d/%d:", client, i), noise[at:at+i%1400]...)
}

// noise has random bytes. Tests send pieces of it. Pieces at different offsets mostly differ.
var noise = func() []byte {
	p := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(p)
	return p
}()

var errTest = errors.New("the handler's own error")

var errRefused = errors.New("no such command")

// rounds runs a task on each worker n times. Between two runs the worker polls its reactor.
func (f *fixture) rounds(n int) {
	f.t.Helper()
	for range n {
		for worker := range f.Runtime().Workers() {
			ran := make(chan struct{})
			f.on(worker, func(*sched.Context) { close(ran) })
			conntest.Receive(f.t, ran)
		}
	}
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	_, err := io.WriteString(c, s)
	require.NoError(t, err)
}

// on runs a function on a worker.
func (f *fixture) on(worker int, do func(cx *sched.Context)) {
	f.t.Helper()
	require.NoError(f.t, f.Runtime().Start())
	t := new(sched.Task)
	t.Init(f.Runtime(), body(do))
	t.Pin(worker)
	t.Wake()
}

// body is a task's Body that is a function.
type body func(cx *sched.Context)

func (f body) Run(cx *sched.Context) bool {
	f(cx)
	return true
}

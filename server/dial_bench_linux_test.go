package server_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// replies gives its connection back, or ends it, with the answer.
type replies struct {
	server.Base
	done chan error
	pool *server.Pool
}

func (r *replies) OnOpen(c *server.Conn) error { _, err := c.WriteString("x"); return err }

func (r *replies) OnData(c *server.Conn) error {
	_, _ = c.Discard(-1)
	if r.pool == nil {
		_ = c.Close()
	} else {
		r.pool.Put(c)
	}
	r.done <- nil
	return nil
}

func (r *replies) OnClose(_ *server.Conn, err error) {
	if err != nil {
		r.done <- err
	}
}

// cpu reports the CPU time that the process has used since, for both ends together. The elapsed
// time says less: most of it is spent waiting for threads to wake.
func cpu(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op") }
}

// One byte there and back, by a new connection each, as package net and a Dialer make
// them, and by one of a pool.
func BenchmarkDial(b *testing.B) {
	addr := conntest.Serve(b, conntest.Echo).String()
	g, err := conn.NewGroup(conn.Config{LingerTimeout: time.Second}, sched.Config{Workers: 1})
	require.NoError(b, err)
	defer g.Close()
	d := server.Dialer{Group: func() *conn.Group { return g }}
	b.Run("net", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			c, err := net.Dial("tcp", addr)
			require.NoError(b, err)
			_, _ = c.Write([]byte("x"))
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close()
		}
	})
	b.Run("Dialer", func(b *testing.B) {
		defer cpu(b)()
		r := &replies{done: make(chan error, 2)}
		for b.Loop() {
			_, err := d.Start("tcp", addr, r)
			require.NoError(b, err)
			require.NoError(b, <-r.done)
		}
	})
	b.Run("Pool", func(b *testing.B) {
		p := &server.Pool{Dialer: d}
		defer cpu(b)()
		r := &replies{done: make(chan error, 2), pool: p}
		for b.Loop() {
			_, err := p.Start("tcp", addr, r)
			require.NoError(b, err)
			require.NoError(b, <-r.done)
		}
		_ = p.Close()
	})
}

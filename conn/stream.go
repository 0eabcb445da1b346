package conn

import (
	"context"
	"net"
	"reflect"
	"runtime"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/handover"
	"github.com/suiro-go/suiro/sched"
)

// A Stream is a connection for plain sequential code: a net.Conn that suspends a function of a task
// in Read and Write, not a thread. So anything that speaks over a net.Conn runs on it as it is:
// bufio, crypto/tls, textproto. A Sequential handler has a Stream of its connection. Tasks dial
// and accept others: see package server.
//
// Read, Write and the other methods that transfer bytes are for the function that the Stream is
// bound to. For a handler's Stream these are the handler's function and those it has started with
// Go. Another task calls Bind first, a goroutine uses Socket. Otherwise these methods return an
// error, which is also logged, at most once a second. Close, Abort, the deadlines, the addresses,
// Bind, Socket and Handle are for any goroutine. The zero value cannot be used.
//
// Once a write has failed, the next ones fail too. Reads first return all that has arrived, as
// those of package net do.
//
// Errors of reads and writes are *net.OpError, except io.EOF, io.ErrUnexpectedEOF and ErrNotReady.
// They match net.ErrClosed after Close, Abort and the end of the group, os.ErrDeadlineExceeded
// after a deadline, and sched.ErrCanceled in a task that was aborted.
//
// Bytes leave when the function waits for anything, when it returns, or with Flush: all that is
// written between two waits leaves as one send. A function that blocks in another way, in a Go
// channel for instance, calls Flush before. So does one that uses the Handle after a Write.
//
// A Stream that a task has dialed, accepted or bound gathers writes of less than 16 KiB, 16 KiB in
// all. It sends a larger one at once: that Write returns when the kernel, or a queue of up to 64
// KiB before it, has taken everything. If gathered bytes cannot be sent, the next Write or Flush
// returns the error. So does a CloseWrite or Close that has sent them. Such a Stream stays open
// until Close.
//
// Of a handler's Stream the following holds. A Write waits while Config.HighWater bytes are unsent.
// Reading goes on meanwhile. So two peers that both write first and read later wait for each other
// no longer than over TCP itself.
type Stream struct {
	// The task's alone. These fields and those that others store are all that most turns look at.
	// They fill two cache lines.
	c          *core.Conn
	running    *branch // the branch that runs now
	fresh      bool    // in this run of the task all functions have gone on since the last event
	needsRoom  bool    // a function waits for the queue to get shorter
	wantedRoom bool    // a function waited so at the end of the last turn
	holds      bool    // reading is paused: much is unread
	ending     bool    // main has returned
	vacant     bool    // and all others have
	asked      bool    // something was read after the last write
	isShared   bool    // the bytes are those of the Socket shared
	wants      int     // bytes that a function waits for in place
	viewed     int     // at most as many bytes were last returned in place
	main       branch

	// Any goroutine stores these and then rings, so that a turn sees them.
	signal      handover.Signal
	closed      atomic.Bool
	stage       atomic.Uint32 // how far a shutdown has come
	watches     atomic.Bool   // Draining was called: the function ends itself
	resetsAtEnd atomic.Bool   // Splice has failed: the close is a CloseByReset
	readBy      atomic.Int64  // the runtime's time; 0: no deadline
	writeBy     atomic.Int64
	resets      atomic.Bool

	// The task's alone.
	told     bool // the functions have seen that the connection ended
	over     bool // they have had a turn since the connection was broken
	children []*Branch
	looked   int64        // when all were last about to look at the deadlines, if there were any
	current  *branch      // what running is, of a shared connection
	failed   *Branch      // the first with an error that nobody has joined, as of its end
	alarm    *alarm.Alarm // of readBy and writeBy; nil: there were none

	local net.Addr // nil: not asked for yet; the connection's mutex guards it
	outer Handler  // the handler as it was installed: Sequential's, or one around that

	shared atomic.Pointer[Socket] // of a handler's Stream; nil: no other task has used it

	loan bufs.Loan // bytes of a Socket that were last returned in place

	ofTask *taskStream // nil: it is a handler's; else all fields but loan are unused
}

// A taskStream is the part of a Stream that is not a handler's. Many handlers' streams may be idle
// at a time, and they are smaller without it.
type taskStream struct {
	socket *Socket
	cx     *sched.Context // of the function that it is bound to; nil: none
	value  any
}

var _ net.Conn = (*Stream)(nil)

// Sequential is a Handler that calls fn for each connection, on a coroutine. The connection ends
// when fn returns: in order, as by Conn.Close. If fn returns an error, or panics, that is the cause
// of the end. After an error the peer still gets the written bytes and a FIN; a panic resets. The
// functions that fn has started with Go end with it: once it has returned, their Awaits, Reads and
// Writes fail.
//
// The connection may end otherwise, by an error or because the server has waited for long enough.
// Then Awaits, Reads and Writes fail in the same way; a sched.Context.Shield defers that.
//
// When the server shuts down, a Read that would wait for a next request returns io.EOF, as after
// CloseRead. That is a Read before which nothing was read, or nothing after the last Write. Bytes
// that have arrived by then are read first; later ones may be cut off. So a plain loop of reads and
// answers ends. A function that calls Stream.Draining ends itself, and its Reads are left
// alone. A bufio.Scanner takes the io.EOF for the end of a last line: use package conn/frame.
//
// Each wait may move fn to another worker: to one that has nothing to do, or away from one that is
// stuck. So what cx.Worker returns is good until the next wait. fn must not be locked to its thread
// (runtime.LockOSThread) when it waits or returns: the process would die.
//
// On io_uring the connection stays with the worker that has opened it, because Go ties its
// coroutine to the thread of that worker. Other workers do not help out as they do with callbacks.
// So a server with such a Handler runs on epoll unless its Backend says otherwise.
func Sequential(fn func(cx *sched.Context, s *Stream) error) Handler { return &sequential{fn: fn} }

// sequential is the handler of a connection until that is open.
type sequential struct {
	Base
	fn func(*sched.Context, *Stream) error
}

// OnOpen implements Handler.
func (h *sequential) OnOpen(u *Conn) error {
	c := &u.core
	s := &Stream{c: c, outer: handlerOf(c)}
	c.Install((*streamEvents)(s))
	s.main.begin = func(cx *sched.Context) error { return s.c.Returned(h, h.fn(cx, s)) }
	return nil
}

// Stackful implements Stackful.
func (*sequential) Stackful() bool { return true }

// OnData implements Handler; it is not called.
func (*sequential) OnData(*Conn) error { return nil }

// OnDrain implements Handler, for one around this one: streamEvents calls that.
func (*sequential) OnDrain(c *Conn) {
	if e := streamOf(c.core.Handler); e != nil && !e.vacant {
		(*Stream)(e).drain()
		return
	}
	_ = c.Close()
}

// Handle is Conn.Handle.
func (s *Stream) Handle() Handle {
	if s.ofTask != nil {
		return Handle{s.ofTask.socket.handle()}
	}
	return Handle{s.c.Handle()}
}

// LocalAddr implements net.Conn. It is nil once the connection has ended, unless somebody asked
// before.
func (s *Stream) LocalAddr() net.Addr {
	if s.ofTask != nil {
		return s.ofTask.socket.LocalAddr()
	}
	return s.localAddr(false)
}

// localAddr asks the kernel once: few programs want to know, and an idle Stream needs no memory for
// it. The descriptor is open while the task has turns, whatever it does with the inbox.
func (s *Stream) localAddr(turn bool) net.Addr {
	return s.c.LocalAddrIn(&s.local, turn)
}

// RemoteAddr implements net.Conn.
func (s *Stream) RemoteAddr() net.Addr {
	if s.ofTask != nil {
		return s.ofTask.socket.RemoteAddr()
	}
	return s.c.Remote()
}

// Value and SetValue are those of the connection. They are for the functions of a handler's Stream.
// A Stream that is not a handler's has a value of its own.
func (s *Stream) Value() any {
	if s.ofTask != nil {
		return s.ofTask.value
	}
	return s.c.Value
}

// SetValue stores what Value then is.
func (s *Stream) SetValue(v any) {
	if s.ofTask != nil {
		s.ofTask.value = v
		return
	}
	s.c.Value = v
}

// Context is Conn.Context, for any goroutine. In a function of a handler's Stream the sched.Context
// is derived from it. So the end of the connection cancels a query that was made with either, and
// an abort of the function cancels one made with the latter. A sched.Context.Shield does not defer
// the end of the connection: context.WithoutCancel is for cleaning up.
//
// Before a dialed connection is established the context has ended.
func (s *Stream) Context() context.Context {
	switch {
	case s.ofTask != nil:
		return s.ofTask.socket.Context()
	case s.closed.Load():
		return s.c.Group.EndedContext(s.Handle().core)
	}
	return s.Handle().Context()
}

// HandlerName implements engine.Named.
func (h *sequential) HandlerName() string {
	return runtime.FuncForPC(reflect.ValueOf(h.fn).Pointer()).Name()
}

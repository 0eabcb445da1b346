package core

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/receive"
	"github.com/suiro-go/suiro/internal/sock"
)

// The task of a connection receives itself in three cases: while much arrives at a time (gauge), in
// the first run of an accepted connection (readFirst), and always with Config.MaxMemory (frugal).
// Except in the first run, the reactor has reported that there is something, and no receive is in
// flight. The memory is the worker's: it has just been used and is still in the cache, right before
// the handler looks at it. So it does not grow with the connections, and a handler keeps none of
// it.
//
// A read is no larger than the handler may leave unread, nor than may be unsent if all of it is
// echoed. So it exceeds neither bound by more than Policy.Enough.
//
// go run ./bench -workloads echo16k,stream-echo measures it.

// policies are those of connections with a handler, of splices through pipes, and of splices of
// sockets without splice(2).
func policies(cfg *Config) (reads, pipes, copies receive.Policy) {
	most := min(2*bufs.Large, cfg.Reactor.Buffers*cfg.Reactor.BufferSize)
	reads = receive.Policy{Bulk: receive.Task, Much: 32 << 10, Runs: 2, Enough: 16 << 10, Reads: 2, First: min(bufs.Large, most), Most: most}
	switch cfg.Reactor.Backend {
	case "io_uring":
		// Its reactor receives 16 KiB for each ready connection; these have left the cache when the
		// last handler runs.
		reads.Much, reads.Enough = 8<<10, 4<<10
	case "iocp":
		// Under Wine a question whether there is something consumes a reset, and the read after it
		// does not see that.
		reads.Bulk = receive.Reactor
	}
	// A full buffer of the reactor may still be little data, so a splice changes the receiver
	// later.
	copies = receive.Policy{Bulk: receive.Task, Much: 32 << 10, Runs: 4, Enough: 32 << 10, Reads: 8, Vain: true, First: sock.PipeSize / 4, Most: sock.PipeSize / 4}
	pipes = copies
	pipes.Bulk, pipes.First, pipes.Most = receive.Pipe, 4*cfg.HighWater, 4*cfg.HighWater
	return reads, pipes, copies
}

// gauge decides whether the reactor or the task receives from now on. It is called after a run to
// which the reactor has brought so many bytes, or in which a splice has handed over so many that
// it had kept.
func (r *reader) gauge(came int) {
	c := r.c
	s, ripe := c.policy().Ran(c.Reading.State(), came)
	if ripe && !c.Is(Closing|Broken) && !c.Reading.Is(ReadClosed|Ended) && c.mayRead() {
		s = receive.Begin() // arm ends the receive
	}
	c.Reading.Become(s)
}

// frugal reports whether the task must read all input itself. Then it asks for memory before it
// takes anything out of the kernel. A receive in flight would bring bytes although memory is short,
// on io_uring up to all its buffers for each connection.
func (r *reader) frugal() bool {
	return r.c.Group.Bounded() && r.c.Group.Reads.Bulk != receive.Reactor && r.c.passer == nil
}

// readFirst reads data that arrived with an accepted connection, in its first run. Most clients
// speak first, and their bytes are there by then. The same run answers them, so neither a poll nor,
// on epoll, an event is needed. readFirst reads at most a small buffer full; the rest is received
// later. With MaxMemory, which may have to hold the bytes back, it does nothing.
func (r *reader) readFirst() {
	c := r.c
	if !c.Group.ReadsFirst || c.Is(Outbound|Closing|Broken) || c.Reading.Is(waiting|ReadClosed) || c.Filter() != nil || c.passer != nil {
		return
	}
	if r.readNow(bufs.Small) && len(c.Out.Queued) > 0 && !c.Is(Broken) {
		c.writeNow(nil) // on io_uring an operation for it would cost more
	}
}

// policy says who receives, and how large reads are.
func (c *Conn) policy() *receive.Policy {
	if c.passer != nil {
		return c.passer.Policy(c.Group)
	}
	return &c.Group.Reads
}

// mayRead reports whether the task may receive itself. With TLS all that arrives is to be
// decrypted.
func (c *Conn) mayRead() bool {
	if c.passer != nil {
		return c.passer.MayRead(c)
	}
	return c.Filter() == nil
}

// readable reads when a reactor has reported that there is something to be read.
func (c *Conn) readable() {
	if c.passer != nil {
		c.passer.Readable(c)
	} else {
		c.readNow(c.Group.Reads.Size(c.Reading.State()))
	}
}

// readNow receives at most that many bytes and gives them to the handler. It reads once, so that
// other tasks do not wait long. It reports whether bytes came.
func (r *reader) readNow(most int) bool {
	c, d := r.c, r.c.Driver
	wants := max(r.wants(), c.Group.Reads.Enough)
	if f := c.Filter(); f.Decrypts() {
		room := d.scratch.Room(min(most, bufs.Large))
		room = room[:min(len(room), wants)]
		n := r.ReadInto(room)
		if n > 0 {
			f.decipher(c, room[:n])
			f.offer(c)
		}
		return n > 0
	}
	room := r.In.Room(&d.Buffers, &d.scratch, most)
	size := min(len(room.Bytes), wants)
	if most > c.Group.Reads.First {
		size = sock.Whole(c.Endpoint.FD, size)
	}
	n := r.ReadInto(room.Bytes[:size])
	if n > 0 {
		r.In.Arrived(&d.Buffers, &d.scratch, room, n)
		r.Offer()
	}
	return n > 0
}

// ReadInto receives into room by a call of the task's own. It returns how many bytes came, and
// deals with an end or an error. Unlike a reactor's receive, it takes no more than is wanted.
func (r *reader) ReadInto(room []byte) int {
	n, errno := r.c.Group.Calls.TryRecv(r.c.Endpoint.FD, room)
	return r.Took(n, len(room), errno)
}

// Took deals with the result of a call that has received n bytes into so much room, and returns n.
func (r *reader) Took(n, room int, errno syscall.Errno) int {
	c := r.c
	p := c.policy()
	if errno == syscall.EAGAIN {
		c.Reading.Become(p.InVain(c.Reading.State()))
		return 0
	}
	c.Driver.received = true
	if errno != 0 || n == 0 {
		c.Reading.Become(0)
		r.recvEnd(errno)
		return 0
	}
	c.Reading.Become(p.Read(c.Reading.State(), n, room))
	c.received(n)
	if c.Extras != nil && c.Extras.Clock.Idles() {
		c.Extras.Clock.Came(c.Group.Runtime.Now())
	}
	return n
}

// wants is how much may be read without passing a bound.
func (r *reader) wants() int {
	c, cfg := r.c, &r.c.Group.Config
	return min(cfg.MaxRead-len(r.In.Unread), cfg.HighWater-c.Unsent(), c.consumer.ReadCapacity())
}

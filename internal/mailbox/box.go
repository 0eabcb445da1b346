package mailbox

import "github.com/suiro-go/suiro/internal/bufs"

// A Box is the entrance of one task. Its zero value is empty and open. The owner's lock is held in
// all methods. Rest is what the owner keeps in the Queue besides.
type Box[Chunk, Command, Rest any] struct {
	queue                *Queue[Chunk, Command, Rest] // nil: none
	recvErrno, sendErrno uint32
	signs                Signs
	takes                intake
}

// A Queue is the part of a Box that is needed only at times. A Box with nothing in it has none, so
// that many idle ones are cheap. The zero value is empty.
type Queue[Chunk, Command, Rest any] struct {
	chunks   []Chunk // in the order of their arrival
	commands []Command
	bytes    int // of the commands' data
	rest     Rest
}

// FreeQueues are the empty ones of one worker, for its goroutine alone.
type FreeQueues[Chunk, Command, Rest any] = bufs.FreeList[Queue[Chunk, Command, Rest]]

// Lists has empty lists of chunks.
type Lists[Chunk any] interface{ ChunkList() []Chunk }

// Signs are the events that have happened. The bits that are not declared here are the owner's.
type Signs uint16

const (
	RecvEnded Signs = 1 << iota // a receive, with an error number
	SendEnded                   // a send, with an error number

	// Stays are the two signs that Take leaves in the Box.
	Stays Signs = 3 << 14
)

// Is reports whether any of the signs is set.
func (s Signs) Is(any Signs) bool { return s&any != 0 }

// An intake says what a Box accepts.
type intake uint8

const (
	takesAll     intake = iota
	takesNoWrite        // goroutines' writes are refused
	takesNothing        // all commands are
)

// Batch is the contents of a Box, which Take has moved out.
type Batch[Chunk, Command any] struct {
	Chunks               []Chunk
	Commands             []Command
	Bytes                int // of the commands' data
	Signs                Signs
	RecvErrno, SendErrno uint32
}

// Closed reports whether all commands are refused.
func (b *Box[C, M, R]) Closed() bool { return b.takes == takesNothing }

// TakesWrites reports whether a goroutine may begin a write.
func (b *Box[C, M, R]) TakesWrites() bool { return b.takes == takesAll }

// Shut refuses writes that begin from now on. It returns the bytes of the commands that the task
// has not taken.
func (b *Box[C, M, R]) Shut() (waiting int) {
	b.takes = max(b.takes, takesNoWrite)
	return b.Bytes()
}

// Close refuses all commands from now on.
func (b *Box[C, M, R]) Close() { b.takes = takesNothing }

// Rest is the owner's part of the Queue; nil: there is no Queue.
func (b *Box[C, M, R]) Rest() *R {
	if b.queue == nil {
		return nil
	}
	return &b.queue.rest
}

// Need is Rest after it has made sure that there is a Queue. With nil the Queue is a new one, which
// some worker gets in the end.
func (b *Box[C, M, R]) Need(from *FreeQueues[C, M, R]) *R {
	if b.queue == nil {
		if from == nil {
			b.queue = new(Queue[C, M, R])
		} else {
			b.queue = from.Get()
		}
	}
	return &b.queue.rest
}

// Spare gives the Queue back if it is empty. The caller says so for the owner's part, which is the
// zero value then.
func (b *Box[C, M, R]) Spare(to *FreeQueues[C, M, R], restIsZero bool) {
	if m := b.queue; m != nil && restIsZero && m.chunks == nil && m.commands == nil {
		b.queue = nil
		to.Put(m)
	}
}

// Arrived adds a chunk.
func (b *Box[C, M, R]) Arrived(free *FreeQueues[C, M, R], lists Lists[C], chunk C) {
	b.Need(free)
	if b.queue.chunks == nil {
		b.queue.chunks = lists.ChunkList()
	}
	b.queue.chunks = append(b.queue.chunks, chunk)
}

// Chunks is the number of chunks.
func (b *Box[C, M, R]) Chunks() int {
	if b.queue == nil {
		return 0
	}
	return len(b.queue.chunks)
}

// Sign sets signs.
func (b *Box[C, M, R]) Sign(s Signs) { b.signs |= s }

// Unsign takes signs back.
func (b *Box[C, M, R]) Unsign(s Signs) { b.signs &^= s }

// Signs are those that are set.
func (b *Box[C, M, R]) Signs() Signs { return b.signs }

// RecvEnd is the end of the receive.
func (b *Box[C, M, R]) RecvEnd(errno uint32) {
	b.signs |= RecvEnded
	b.recvErrno = errno
}

// SendEnd is the end of the send.
func (b *Box[C, M, R]) SendEnd(errno uint32) {
	b.signs |= SendEnded
	b.sendErrno = errno
}

// RecvErrno is the error number of the receive that has ended.
func (b *Box[C, M, R]) RecvErrno() uint32 { return b.recvErrno }

// Tell adds a command with n bytes of data. It reports false if it is refused.
func (b *Box[C, M, R]) Tell(command M, n int) bool {
	if b.Closed() {
		return false
	}
	b.Need(nil)
	b.queue.commands = append(b.queue.commands, command)
	b.queue.bytes += n
	return true
}

// Commands is the number of commands.
func (b *Box[C, M, R]) Commands() int {
	if b.queue == nil {
		return 0
	}
	return len(b.queue.commands)
}

// Last is the last command, valid until the lock is released; nil: there is none. The caller may
// add data to it, and then calls Grew.
func (b *Box[C, M, R]) Last() *M {
	n := b.Commands()
	if n == 0 {
		return nil
	}
	return &b.queue.commands[n-1]
}

// Grew notes n more bytes of data in the Last command.
func (b *Box[C, M, R]) Grew(n int) { b.queue.bytes += n }

// Bytes is how much data the commands have.
func (b *Box[C, M, R]) Bytes() int {
	if b.queue == nil {
		return 0
	}
	return b.queue.bytes
}

// Take moves all contents into n. Only the task may call it, as it may those below.
func (b *Box[C, M, R]) Take(n *Batch[C, M]) {
	if m := b.queue; m != nil {
		n.Chunks, m.chunks = m.chunks, nil
		n.Commands, m.commands = m.commands, nil
		n.Bytes, m.bytes = m.bytes, 0
	}
	n.Signs, b.signs = b.signs&^Stays, b.signs&Stays
	n.RecvErrno, n.SendErrno = b.recvErrno, b.sendErrno
}

// PutBack puts the rest of a Take's chunks back, before those that arrived meanwhile, and the end
// of the receive if n has it. Nothing arrives after that end. The result is the list in which the
// later chunks were.
func (b *Box[C, M, R]) PutBack(free *FreeQueues[C, M, R], rest []C, n *Batch[C, M]) (came []C) {
	b.Need(free)
	came = b.queue.chunks
	b.queue.chunks = append(rest, came...) //nolint:gocritic // the queue of came goes back to its pool
	if n.Signs.Is(RecvEnded) {
		n.Signs &^= RecvEnded
		b.RecvEnd(n.RecvErrno)
	}
	return came
}

// Late takes the commands that were accepted after the last Take, at the end of the task. The Box
// is closed.
func (b *Box[C, M, R]) Late() (late []M) {
	if b.queue != nil {
		late, b.queue.commands, b.queue.bytes = b.queue.commands, nil, 0
	}
	return late
}

package conn

import (
	"context"
	"net"
	"sync"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/waiter"
)

// A Socket is a connection for ordinary goroutines: a net.Conn whose descriptor the
// group's workers serve. It behaves as a *net.TCPConn does: Read and Write block, any
// method may be called from any goroutine at any time, and errors are *net.OpError.
//
// It differs in this: Write returns when the kernel, or a queue of up to 64 KiB before
// it, has taken everything; Close lets that be sent in the background, as Conn.Close
// does, for as long as the peer takes some of it within Config.Linger, and resets a peer
// that sends more than 2 MiB meanwhile; and a Socket that is forgotten without Close
// stays open.
//
// What has arrived and is not read is kept, up to Config.HighWater bytes and a little
// more; then the peer is held back. An idle Socket holds no buffer, and no goroutine
// but those blocked in its methods.
//
// Group.Drain closes it if it was dialled. It does nothing to one that was accepted, since
// only its owner knows when it is done with it. Group.Abort resets it. Setting deadlines then
// fails with net.ErrClosed.
type Socket struct {
	plain // of a consumer's parts, those that a Socket has no use for

	opened chan struct{} // closed with OnOpen, or with OnClose instead; nil: it was accepted

	mu     sync.Mutex // guards what follows; taken before that of c, never after it
	c      *Conn      // nil: not open yet. Goroutines use what its mutex guards, and what is fixed
	local  net.Addr   // nil: not asked for yet
	closed bool       // Close was called
	reset  bool       // SetLinger(0) was: Close resets
	gone   bool       // OnClose was
	failed error      // what that was given

	lender   Handler // whose the connection is after Return; nil: nobody's
	returned bool    // Return was called, so what arrives is for that

	in      bufs.Blocks        // what has arrived
	readers waiter.List        // they wait for more: while there are some, in is empty, or left to a WriteTo that is about to come
	behind  int                // bytes that wait in the connection, with MaxMemory alone
	held    bool               // reading is paused
	deaf    bool               // CloseRead was called
	eof     bool               // the peer has finished
	ended   func()             // NotifyEnd's; nil: nobody's, or it was called
	readBy  alarm.Bell[Socket] // of reads

	writing bool               // somebody writes: others wait in writers. Also until it is open
	writers waiter.List        // for their turn
	forRoom *waiter.Waiter     // who writes, waiting for room in the queue
	room    bool               // there may be some now
	mute    bool               // CloseWrite was called
	writeBy alarm.Bell[Socket] // of writes
}

var _ net.Conn = (*Socket)(nil)

// NewSocket is a Socket for one connection that is to be dialed: give its Handler to
// Group.Dial, and then WaitOpen tells what came of it. Reads and writes wait for that too.
func NewSocket() *Socket {
	return &Socket{opened: bubble.Chan[struct{}](0), writing: true}
}

// WaitOpen waits until the connection is established, and returns nil; or until it is
// not going to be, and returns why; or until ctx ends, and returns its error: then the
// attempt goes on, until Close or Handle.Abort ends it.
func (s *Socket) WaitOpen(ctx context.Context) error {
	if s.opened != nil {
		ctx, release := bubble.Context(ctx)
		defer release()
		select {
		case <-s.opened:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return s.failed
	}
	return nil
}

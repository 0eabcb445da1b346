package natscluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

type certain struct{ N int }

// alone joins a node of a cluster of its own.
func alone(t *testing.T, change func(cfg *Config)) *Cluster {
	t.Helper()
	cfg := Config{Types: NewTypes(), Lost: time.Minute, Process: process.Config{Grace: -1}}
	Register[certain](cfg.Types, "certain", AtLeastOnce)
	RegisterCall[int, int](cfg.Types, "call")
	if change != nil {
		change(&cfg)
	}
	c, err := Join(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, p := range c.all() { // of nodes that do not exist, which confirm nothing
			c.lose(p)
		}
		require.NoError(t, c.Shutdown(context.Background()))
	})
	return c
}

// unstarted is a peer that sends nothing.
func unstarted() *peer {
	c := &Cluster{window: minWindow, calls: map[uint64]*call{}, groups: map[string]struct{}{}}
	c.maxFrame.Store(minWindow)
	return newPeer(c, 7, 1)
}

func TestASendWhileANodeIsBeingLostIsRefused(t *testing.T) {
	var c *Cluster
	to := pidOf(7)
	var errs []error
	c = alone(t, func(cfg *Config) {
		cfg.Process.Dropped = func(process.PID, any, error) { errs = append(errs, c.sys.TrySend(to, certain{2})) }
	})
	p := c.heard(7)
	require.NoError(t, c.sys.TrySend(to, certain{1}))
	c.lose(p)
	require.Equal(t, []error{ErrNodeLost}, errs)
	require.Equal(t, uint64(2), c.heard(7).epoch, "it comes back in the next epoch")
}

func TestDroppedMayPanic(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	calls := 0
	log := &conntest.Log{}
	c := alone(t, func(cfg *Config) {
		cfg.Logger = log.Logger()
		cfg.Process.Dropped = func(process.PID, any, error) {
			if calls++; calls == 1 {
				panic("of the test")
			}
			panic(nil)
		}
	})
	p := c.heard(7)
	for i := range 2 {
		e := entry{kind: entrySend}
		_, _, err := c.encode(certain{i}, &e)
		require.NoError(t, err)
		require.NoError(t, p.add(&e, true))
	}
	c.lose(p)
	require.Equal(t, 2, calls)
	require.Equal(t, 2, log.Count("Dropped panicked"))
}

// A node goes on to receive frames after a Dropped that has called runtime.Goexit.
func TestDroppedMayExitItsGoroutine(t *testing.T) {
	calls := make(chan any, 10)
	c := alone(t, func(cfg *Config) {
		cfg.Process.Dropped = func(_ process.PID, message any, _ error) {
			calls <- message
			runtime.Goexit()
		}
	})
	e := entry{kind: entrySend, target: process.PID{}}
	_, _, err := c.encode(certain{1}, &e)
	require.NoError(t, err)
	for seq := range uint64(3) { // messages for no process
		b := e.append(make([]byte, frameHeader))
		(&header{kind: frameNumbered, node: 7, epoch: 1, seq: 1 + seq, position: 0}).put(b)
		require.NoError(t, c.nc.Publish(c.subject(c.node), b))
	}
	for range 3 {
		require.Equal(t, certain{1}, schedtest.Receive(t, "a message is dropped", calls))
	}
}

func TestFramesThatAreGarbageMakeNoPeers(t *testing.T) {
	c := alone(t, nil)
	frame := func(h header, more ...byte) []byte {
		b := make([]byte, frameHeader)
		h.put(b)
		return append(b, more...)
	}
	old := frame(header{kind: framePlain, node: 7, epoch: 1})
	old[0] = protocolVersion + 1
	for _, b := range [][]byte{
		nil, {protocolVersion}, []byte(strings.Repeat("\xff", 37)), []byte(strings.Repeat("\xff", 64)), old,
		frame(header{kind: 0, node: 7, epoch: 1}), frame(header{kind: frameLeave + 1, node: 7, epoch: 1}),
		frame(header{kind: framePlain, node: 7, epoch: maxEpoch + 1}), frame(header{kind: framePlain, epoch: 1}),
	} {
		c.receive(&nats.Msg{Data: b})
		c.heartbeat(&nats.Msg{Data: b})
		require.Empty(t, c.all(), "%x", b)
	}
	c.receive(&nats.Msg{Data: frame(header{kind: frameHeartbeat, node: 7})})
	c.heartbeat(&nats.Msg{Data: frame(header{kind: framePlain, node: 7})})
	require.Empty(t, c.all(), "kinds of the other subject")

	body := make([]byte, 16)
	for i := range 8 {
		body[i], body[8+i] = byte(c.node>>(56-8*i)), 0xff
	}
	c.heartbeat(&nats.Msg{Data: frame(header{kind: frameHeartbeat, node: 7}, body...)})
	require.Equal(t, uint64(1), c.all()[0].epoch, "an epoch that cannot be")
}

func TestALoneNumberedFrameKeepsLittleMemory(t *testing.T) {
	p := unstarted()
	e := entry{kind: entrySend, body: []byte("small")}
	require.NoError(t, p.add(&e, true))
	batch, _, _ := p.take(nil, nil)
	require.Len(t, batch, 1)
	require.True(t, batch[0].copied, "the full one goes back to the pool")
	kept := p.unreceived[0]
	require.Equal(t, batch[0].b, kept.b)
	require.LessOrEqual(t, cap(kept.b), 2*len(kept.b))
	require.Equal(t, uint64(e.cost())+frameCharge, p.retained)

	sent := 1
	for ; p.add(&e, true) == nil; sent++ {
		p.take(nil, nil)
	}
	require.LessOrEqual(t, sent, minWindow/frameCharge, "frames count, too")
	p.confirmed(&header{epoch: 1, seq: p.seq, position: p.sent})
	require.Zero(t, p.retained)
	require.Empty(t, p.unreceived)
}

func TestFlushDoesNotWaitForLaterMessages(t *testing.T) {
	p := unstarted()
	c := p.c
	c.peers = map[uint64]*peer{7: p}
	e := entry{kind: entrySend}
	require.NoError(t, p.add(&e, true))
	p.take(nil, nil)
	<-p.wake // of add
	flushed := make(chan error, 1)
	go func() { flushed <- c.flush(t.Context()) }()
	<-p.wake // of flush
	require.NoError(t, p.add(&e, true))
	p.take(nil, nil)
	p.confirmed(&header{epoch: 1, seq: 1})
	require.NoError(t, <-flushed)
	require.Len(t, p.unreceived, 1)
}

func TestEntriesThatWaitForRoomBeforeTheirFrameIsHandled(t *testing.T) {
	p := unstarted()
	p.parked = 100
	p.mayConfirm()
	require.False(t, p.receipt, "nothing has left the window")
	require.Zero(t, p.left())
	p.processed = 130
	require.Equal(t, uint64(30), p.left())
}

func TestEntriesThatNoFrameMayHaveAreRefused(t *testing.T) {
	p := unstarted()
	require.Equal(t, ErrTooLarge, p.add(&entry{kind: entryAnswer, body: make([]byte, minWindow)}, true))
	require.Empty(t, p.queue)
}

func TestErrorsMatchAtTheOtherNode(t *testing.T) {
	for _, err := range wellKnown[1:] {
		require.Equal(t, err, decodeError(encodeError(err)))
		wrapped := fmt.Errorf("while testing: %w", err)
		got := decodeError(encodeError(wrapped))
		require.Equal(t, wrapped.Error(), got.Error())
		require.ErrorIs(t, got, err)
	}
	got := decodeError(encodeError(errors.New(strings.Repeat("x", 1<<20))))
	require.Len(t, got.Error(), maxErrorText)
	require.NoError(t, errors.Unwrap(got))
	require.Equal(t, errMalformed, decodeError([]byte{otherError}))
}

func TestCallsThatAreGivenUpLeaveNothing(t *testing.T) {
	near := alone(t, nil)
	far := alone(t, func(cfg *Config) { cfg.URL = near.URL() })
	var once sync.Once
	received := make(chan struct{})
	ref, err := process.Go(far.sys, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		for {
			if _, err := self.Receive(cx); err != nil {
				return err
			}
			once.Do(func() { close(received) })
		}
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-received
		cancel()
	}()
	_, err = process.Call[int, int](ctx, near.sys, ref.PID(), 5)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, near.Flush(t.Context()), "the other node has the entry")
	for _, p := range far.all() {
		require.Eventually(t, func() bool { // once the answer to the cancel event has come
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.serving) == 0
		}, patience.Limit, time.Millisecond)
	}
}

func pidOf(node uint64) (pid process.PID) {
	b := make([]byte, 16)
	binary.BigEndian.PutUint64(b, node)
	b[15] = 1
	_ = pid.UnmarshalBinary(b)
	return pid
}

func TestNodesThatWereNeverHeard(t *testing.T) {
	changes := make(chan bool, 10)
	c := alone(t, func(cfg *Config) { cfg.NodeChanged = func(_ uint64, found bool) { changes <- found } })
	require.NoError(t, c.sys.TrySend(pidOf(7), certain{1}), "it may be about to join")
	require.Empty(t, c.Nodes())
	c.lose(c.all()[0])
	require.Empty(t, changes)
	require.Equal(t, ErrNodeLost, c.sys.TrySend(pidOf(7), certain{1}))

	require.NoError(t, c.sys.TrySend(pidOf(8), certain{1}))
	p := c.heard(8)
	require.True(t, <-changes)
	require.Equal(t, []uint64{8}, c.Nodes())
	c.lose(p)
	require.False(t, <-changes)
}

func TestLostNodesAreForgotten(t *testing.T) {
	c := alone(t, nil)
	c.lose(c.heard(7))
	c.lose(c.heard(7))
	c.losts[8] = lostNode{hasLeft, c.now()}
	c.forgetLost(c.now())
	require.Len(t, c.losts, 2)
	require.Nil(t, c.heard(8))
	c.forgetLost(c.now() + lostKept)
	require.Empty(t, c.losts)
	require.Equal(t, uint64(3), c.heard(7).epoch, "later than all that were forgotten")
}

func TestEmptyGroupsAreDropped(t *testing.T) {
	near := alone(t, nil)
	far := alone(t, func(cfg *Config) { cfg.URL = near.URL() })
	ref, err := process.Go(far.sys, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		_, err := self.Receive(cx)
		return err
	})
	require.NoError(t, err)
	require.NoError(t, far.JoinGroup("g", ref.PID()))
	interest := func() (n int) {
		for _, p := range near.all() {
			p.mu.Lock()
			n += len(p.interest)
			p.mu.Unlock()
		}
		return n
	}
	require.Eventually(t, func() bool { return interest() == 1 }, patience.Limit, time.Millisecond)
	far.dropEmptyGroups()
	require.Len(t, far.groups, 1)
	require.True(t, far.sys.LeaveGroup("g", ref.PID()))
	far.dropEmptyGroups()
	require.Empty(t, far.groups)
	require.Eventually(t, func() bool { return interest() == 0 }, patience.Limit, time.Millisecond)
}

// A process that waits for NATS does not hold up its worker. A wait ends with its context, and with
// the node.
func TestAProcessWaitsForNATS(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	t.Cleanup(func() { require.NoError(t, rt.Close()) }) // after the node has left
	c := alone(t, func(cfg *Config) { cfg.Process.Runtime = rt })
	p := c.heard(7)
	require.NoError(t, c.sys.TrySend(pidOf(7), certain{1})) // which nobody confirms
	errs := make(chan error, 2)
	begun := make(chan struct{})
	flush := func(derive func(cx *sched.Context) (context.Context, context.CancelFunc)) {
		_, err := process.Go(c.sys, process.Options{}, func(cx *sched.Context, _ *process.Inbox[any]) error {
			ctx, cancel := derive(cx)
			defer cancel()
			begun <- struct{}{}
			errs <- c.Flush(ctx)
			return nil
		})
		require.NoError(t, err)
		<-begun
	}
	flush(func(cx *sched.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(cx, time.Millisecond)
	})
	require.ErrorIs(t, <-errs, context.DeadlineExceeded)
	flush(func(cx *sched.Context) (context.Context, context.CancelFunc) { return context.WithCancel(cx) })
	answers, err := process.Go(c.sys, process.Options{}, func(cx *sched.Context, self *process.Inbox[*process.Request[int, int]]) error {
		q, err := self.Receive(cx)
		if err == nil {
			q.Reply(q.Body)
		}
		return err
	})
	require.NoError(t, err)
	got, err := process.Call[int, int](t.Context(), c.sys, answers.PID(), 5)
	require.NoError(t, err)
	require.Equal(t, 5, got)
	require.Empty(t, errs, "it waits")
	c.lose(p)
	require.NoError(t, <-errs)

	_, err = process.Go(c.sys, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		errs <- c.Register(cx, "me", self.PID())
		errs <- c.Shutdown(cx)
		_, err := self.Receive(cx)
		return err
	})
	require.NoError(t, err)
	require.NoError(t, <-errs)
	require.ErrorIs(t, <-errs, sched.ErrBlocksWorker)
	_, err = c.Whereis(t.Context(), "me")
	require.NoError(t, err, "the node has not left")
}

func TestWaitsEndWithTheNode(t *testing.T) {
	c := alone(t, nil)
	p := c.heard(7)
	require.NoError(t, c.sys.TrySend(pidOf(7), certain{1}))
	errs := make(chan error, 1)
	go func() { errs <- c.Flush(context.Background()) }()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.flushed) > 0
	}, patience.Limit, time.Millisecond)
	c.cancel() // as stop does
	require.Equal(t, ErrClosed, <-errs)
	_, err := c.Whereis(t.Context(), "me")
	require.Equal(t, ErrClosed, err)
}

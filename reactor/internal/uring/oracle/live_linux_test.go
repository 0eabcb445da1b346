//go:build !386 && !arm && !mips && !mipsle

package oracle

import (
	"fmt"
	"testing"

	"github.com/pawelgaczynski/giouring"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	. "github.com/suiro-go/suiro/reactor/internal/uring"
)

// liveRing is one of the two libraries, on a ring of its own.
type liveRing interface {
	prepare(p pair, userData uint64)
	reap(t *testing.T, n int) []CQE // submits, then waits for n completions
	newGroup(t *testing.T, group uint16, entries int)
	provide(group uint16, mem []byte, bid uint16)
}

type ourLive struct {
	t      *testing.T
	r      *Ring
	groups map[uint16]*BufRing
}

func (l *ourLive) prepare(p pair, userData uint64) { prepare(l.t, l.r, userData, p.ours) }
func (l *ourLive) reap(t *testing.T, n int) []CQE  { return reap(t, l.r, n) }
func (l *ourLive) newGroup(t *testing.T, g uint16, n int) {
	l.groups[g] = newTestBufRing(t, l.r, g, uint32(n))
}

func (l *ourLive) provide(g uint16, mem []byte, bid uint16) {
	l.groups[g].Add(ptr(mem), uint32(len(mem)), bid)
	l.groups[g].Advance()
}

type theirGroup struct {
	ring *giouring.BufAndRing
	mask int
}

type theirLive struct {
	r      *giouring.Ring
	groups map[uint16]theirGroup
}

func (l *theirLive) prepare(p pair, userData uint64) {
	s := l.r.GetSQE()
	*s = theirSQE{} // giouring leaves some fields as they were
	p.theirs(s)
	s.SetData64(userData)
}

func (l *theirLive) reap(t *testing.T, n int) []CQE {
	_, err := l.r.SubmitAndWait(uint32(n))
	require.NoError(t, err)
	var got []CQE
	for range n {
		c, err := l.r.WaitCQE()
		require.NoError(t, err)
		got = append(got, CQE{UserData: c.UserData, Res: c.Res, Flags: c.Flags})
		l.r.CQESeen(c)
	}
	return got
}

func (l *theirLive) newGroup(t *testing.T, g uint16, n int) {
	b, err := l.r.SetupBufRing(uint32(n), int(g), 0)
	require.NoError(t, err)
	l.groups[g] = theirGroup{b, giouring.BufRingMask(uint32(n))}
}

func (l *theirLive) provide(g uint16, mem []byte, bid uint16) {
	b := l.groups[g]
	b.ring.BufRingAdd(uintptr(ptr(mem)), uint32(len(mem)), bid, b.mask, 0)
	b.ring.BufRingAdvance(1)
}

// conversation runs the same requests on any ring and returns every completion.
func conversation(t *testing.T, l liveRing) []string {
	var log []string
	note := func(step string, cs []CQE) {
		for _, c := range cs {
			if step == "accept" && c.Res > 0 {
				require.NoError(t, unix.Close(int(c.Res)))
				c.Res = 1 // numbers of descriptors differ
			}
			log = append(log, fmt.Sprint(step, c))
		}
	}
	a, b := socketpair(t, unix.SOCK_STREAM)
	out, in, back := offHeap(t, 16), offHeap(t, 256), offHeap(t, 16)
	copy(out, "0123456789abcdef")
	nop := pair{ours: (*SQE).PrepNop, theirs: (*theirSQE).PrepareNop}
	cancel := func(target uint64) pair {
		return pair{ours: func(s *SQE) { s.PrepCancel(target, 0) },
			theirs: func(s *theirSQE) { s.PrepareCancel64(target, 0) }}
	}
	send := func(n uint32) pair {
		return pair{ours: func(s *SQE) { s.PrepSend(b, out[:n], unix.MSG_NOSIGNAL) },
			theirs: func(s *theirSQE) { s.PrepareSend(b, uintptr(ptr(out)), n, unix.MSG_NOSIGNAL) }}
	}

	for i := range uint64(20) {
		l.prepare(nop, i)
		l.prepare(nop, 1<<63|i)
		note("nop", l.reap(t, 2))
	}

	l.prepare(pair{ours: func(s *SQE) { s.PrepRecvInto(a, back, 0) },
		theirs: func(s *theirSQE) { s.PrepareRecv(a, uintptr(ptr(back)), uint32(len(back)), 0) }}, 1)
	note("armed", l.reap(t, 0))
	l.prepare(cancel(1), 2)
	note("cancel", l.reap(t, 2))
	l.prepare(cancel(1), 3)
	note("cancel again", l.reap(t, 1))

	const group, entries, size = 5, 8, 32
	l.newGroup(t, group, entries)
	for bid := range entries {
		l.provide(group, in[bid*size:][:size], uint16(bid))
	}
	l.prepare(pair{ours: func(s *SQE) { s.PrepRecv(a, group, true) },
		theirs: func(s *theirSQE) {
			s.PrepareRecvMultishot(a, 0, 0, 0)
			s.SetFlags(uint32(giouring.SqeBufferSelect))
			s.BufIG = group
		}}, 10)
	note("armed", l.reap(t, 0))
	for i := range uint32(30) {
		l.prepare(send(1+i%16), uint64(100+i))
		got := l.reap(t, 2)
		note("send and receive", got)
		for _, c := range got {
			if c.HasBuffer() {
				bid := c.BufferID()
				mem := in[int(bid)*size:][:size]
				log = append(log, string(mem[:c.Res]))
				l.provide(group, mem, bid)
			}
		}
	}
	l.prepare(cancel(10), 11)
	note("end of the multishot", l.reap(t, 2))

	listener, addr := listen(t)
	l.prepare(pair{ours: func(s *SQE) { s.PrepAccept(listener, unix.SOCK_CLOEXEC, true) },
		theirs: func(s *theirSQE) { s.PrepareMultishotAccept(listener, 0, 0, unix.SOCK_CLOEXEC) }}, 20)
	note("armed", l.reap(t, 0))
	for range 3 {
		dial(t, addr)
		note("accept", l.reap(t, 1))
	}
	l.prepare(pair{ours: func(s *SQE) { s.PrepCancelFD(listener, IORING_ASYNC_CANCEL_ALL) },
		theirs: func(s *theirSQE) { s.PrepareCancelFd(listener, giouring.AsyncCancelAll) }}, 21)
	note("end of accept", l.reap(t, 2))

	l.prepare(pair{ours: func(s *SQE) { s.PrepShutdown(b, unix.SHUT_WR) },
		theirs: func(s *theirSQE) { s.PrepareShutdown(b, unix.SHUT_WR) }}, 30)
	note("shutdown", l.reap(t, 1))
	l.prepare(pair{ours: func(s *SQE) { s.PrepPollAdd(a, unix.POLLIN|unix.POLLRDHUP, false) },
		theirs: func(s *theirSQE) { s.PreparePollAdd(a, unix.POLLIN|unix.POLLRDHUP) }}, 31)
	note("poll", l.reap(t, 1))
	l.prepare(send(1), 32)
	note("send after shutdown", l.reap(t, 1))
	return log
}

func TestOracleLiveRing(t *testing.T) {
	ours := &ourLive{t: t, r: newTestRing(t, Params{Entries: 8}), groups: map[uint16]*BufRing{}}
	theirRing, err := giouring.CreateRing(8)
	require.NoError(t, err)
	defer theirRing.QueueExit()
	theirs := &theirLive{r: theirRing, groups: map[uint16]theirGroup{}}
	got, want := conversation(t, ours), conversation(t, theirs)
	require.Equal(t, want, got)
	require.Greater(t, len(got), 100)
}

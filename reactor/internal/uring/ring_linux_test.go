package uring

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/patience"
)

func TestNopRoundTrip(t *testing.T) {
	for _, setup := range []struct {
		name    string
		flags   uint32
		without uint32
	}{
		{name: "plain"},
		{name: "coop taskrun", flags: IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG},
		{name: "no index array", flags: IORING_SETUP_NO_SQARRAY},
		{name: "deferred taskrun", flags: IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN},
		{name: "two mappings", without: IORING_FEAT_SINGLE_MMAP},
		{name: "two mappings, no index array", flags: IORING_SETUP_NO_SQARRAY, without: IORING_FEAT_SINGLE_MMAP},
	} {
		t.Run(setup.name, func(t *testing.T) {
			r := newTestRingWithout(t, Params{Entries: 4, CQEntries: 1024, Flags: setup.flags}, setup.without)
			require.Equal(t, setup.flags, r.Flags()&setup.flags)
			for i := range uint64(2500) { // around both queues, which span pages, more than once
				prepare(t, r, i<<40|7, (*SQE).PrepNop)
				require.EqualValues(t, 1, r.Prepared())
				require.Equal(t, []CQE{{UserData: i<<40 | 7}}, reap(t, r, 1))
				require.Zero(t, r.Prepared())
			}
			requireQuiet(t, r)
		})
	}
}

func TestSizes(t *testing.T) {
	r := newTestRing(t, Params{Entries: 5})
	require.EqualValues(t, 8, r.SQEntries())
	require.EqualValues(t, 16, r.CQEntries(), "the kernel's default is twice the entries")

	r = newTestRing(t, Params{Entries: 8, CQEntries: 100})
	require.EqualValues(t, 8, r.SQEntries())
	require.EqualValues(t, 128, r.CQEntries())
	require.NotZero(t, r.Flags()&IORING_SETUP_CQSIZE)
}

func TestQueueFull(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	for round := range uint64(3) {
		for i := range uint64(8) {
			prepare(t, r, round*8+i, (*SQE).PrepNop)
		}
		require.EqualValues(t, 8, r.Prepared())
		require.Nil(t, r.NextSQE())
		for i, c := range reap(t, r, 8) {
			require.Equal(t, round*8+uint64(i), c.UserData, "entries are taken in order")
		}
	}
}

func TestNextSQEIsZeroed(t *testing.T) {
	r := newTestRing(t, Params{Entries: 1})
	for range 3 {
		sqe := r.NextSQE()
		require.Equal(t, SQE{}, *sqe)
		fillAll(sqe)
		sqe.PrepNop()
		sqe.Flags = 0
		reap(t, r, 1)
	}
}

func TestBatchLargerThanTheQueue(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8, CQEntries: 1024})
	const total = 1000
	for i := range uint64(total) {
		if r.NextSQEFull() {
			submit(t, r)
		}
		prepare(t, r, i, (*SQE).PrepNop)
	}
	for i, c := range reap(t, r, total) {
		require.EqualValues(t, i, c.UserData)
	}
}

// NextSQEFull reports whether NextSQE would return nil, without taking an entry.
func (r *Ring) NextSQEFull() bool { return r.Prepared() == r.SQEntries() }

func TestOverflowIsKeptAndFlushed(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	if r.Features()&IORING_FEAT_NODROP == 0 {
		t.Skip("this kernel drops completions that find the queue full")
	}
	const total = 40 // the queue holds 16
	for i := range uint64(total) {
		if r.NextSQEFull() {
			submit(t, r)
		}
		prepare(t, r, i, (*SQE).PrepNop)
	}
	submit(t, r)
	require.EqualValues(t, 16, r.CQReady())
	require.True(t, r.Overflowed())
	for i, c := range reap(t, r, total) {
		require.EqualValues(t, i, c.UserData, "order survives the overflow")
	}
	require.False(t, r.Overflowed())
	require.Zero(t, r.Dropped(), "nothing was dropped")
	requireQuiet(t, r)
}

// bothWaits runs body with the wait that keeps the P and with the one that gives it up.
func bothWaits(t *testing.T, body func(t *testing.T, hold bool)) {
	for _, hold := range []bool{true, false} {
		t.Run(fmt.Sprintf("hold=%v", hold), func(t *testing.T) { body(t, hold) })
	}
}

func TestTimeoutGivesETIME(t *testing.T) {
	bothWaits(t, func(t *testing.T, hold bool) {
		r := newTestRing(t, Params{Entries: 8})
		require.NotZero(t, r.Features()&IORING_FEAT_EXT_ARG)
		start := time.Now()
		for {
			n, errno := r.Enter(1, true, 2*time.Millisecond, hold)
			require.Zero(t, n)
			if errno == unix.EINTR {
				continue // the runtime's preemption signal
			}
			require.Equal(t, unix.ETIME, errno)
			break
		}
		require.GreaterOrEqual(t, time.Since(start), 2*time.Millisecond)

		_, errno := r.Enter(1, true, 0, hold)
		require.Equal(t, unix.ETIME, errno, "a timeout of zero tries once")
	})
}

func TestTimeoutIsDroppedAfterASubmission(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	a, _ := socketpair(t, unix.SOCK_STREAM)
	prepare(t, r, 1, func(s *SQE) { s.PrepPollAdd(a, unix.POLLIN, false) })
	n, errno := r.Enter(1, true, time.Millisecond, false)
	require.EqualValues(t, 1, n)
	require.Zero(t, errno, "the kernel reports what it took, and not that the wait timed out")
	require.Zero(t, r.CQReady())
}

func TestWaitEndsWithTheCompletion(t *testing.T) {
	bothWaits(t, func(t *testing.T, hold bool) {
		r := newTestRing(t, Params{Entries: 8})
		a, b := socketpair(t, unix.SOCK_STREAM)
		buf := offHeap(t, 16)
		prepare(t, r, 9, func(s *SQE) { s.PrepRecvInto(a, buf, 0) })
		submit(t, r)
		require.Zero(t, r.CQReady())

		done := make(chan error, 1)
		go func() {
			_, err := unix.Write(b, []byte("hello"))
			done <- err
		}()
		for deadline := time.Now().Add(patience.Limit); r.CQReady() == 0; {
			require.True(t, time.Now().Before(deadline))
			// With hold, and one P, the writer runs between the waits only: keep them short, and
			// yield.
			wait := patience.Limit
			if hold {
				wait = time.Millisecond
			}
			r.Enter(1, true, wait, hold)
			if hold {
				runtime.Gosched()
			}
		}
		require.Equal(t, CQE{UserData: 9, Res: 5}, withoutSocketFlags(*r.CQE(0)))
		r.AdvanceCQ(1)
		require.Equal(t, "hello", string(buf[:5]))
		require.NoError(t, <-done)
	})
}

func withoutSocketFlags(c CQE) CQE {
	c.Flags &^= IORING_CQE_F_SOCK_NONEMPTY
	return c
}

func TestInfiniteWaitForSeveral(t *testing.T) {
	bothWaits(t, func(t *testing.T, hold bool) {
		r := newTestRing(t, Params{Entries: 8})
		for i := range uint64(5) {
			prepare(t, r, i, (*SQE).PrepNop)
		}
		n, errno := r.Enter(5, false, -1, hold)
		require.Zero(t, errno)
		require.EqualValues(t, 5, n)
		require.EqualValues(t, 5, r.CQReady())
		r.AdvanceCQ(5)
	})
}

// The consumer need not be the owner: completions go to another thread, in order and complete.
func TestConsumerOnAnotherThread(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8, Flags: IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG})
	const total = 20_000
	done := make(chan string, 1)
	var seen atomic.Uint32
	go func() {
		defer close(done)
		for next := uint64(0); next < total; {
			n := r.CQReady()
			for i := range n {
				if c := *r.CQE(i); c.UserData != next {
					done <- fmt.Sprintf("want %d, got %v", next, c)
					return
				}
				next++
			}
			r.AdvanceCQ(n)
			seen.Add(n)
			if n == 0 {
				runtime.Gosched()
			}
		}
	}()
	for i := range uint64(total) {
		for uint32(i)-seen.Load() >= r.CQEntries() { // leave no overflow: it would wait for the owner
			runtime.Gosched()
			select {
			case msg := <-done:
				t.Fatal(msg)
			default:
			}
		}
		prepare(t, r, i, (*SQE).PrepNop)
		if i%8 == 7 || i == total-1 {
			submit(t, r)
		}
	}
	require.Empty(t, <-done)
}

func TestEnterDoesNotAllocate(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	allocs := testing.AllocsPerRun(100, func() {
		r.NextSQE().PrepNop()
		r.Enter(1, true, time.Second, true)
		r.AdvanceCQ(r.CQReady())
		r.NextSQE().PrepNop()
		r.Enter(1, true, time.Second, false)
		r.AdvanceCQ(r.CQReady())
	})
	require.Zero(t, allocs)
}

func TestBadEntryEndsTheBatch(t *testing.T) {
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("submit all=%v", all), func(t *testing.T) {
			p := Params{Entries: 8}
			if all {
				p.Flags = IORING_SETUP_SUBMIT_ALL
			}
			r := newTestRing(t, p)
			prepare(t, r, 1, (*SQE).PrepNop)
			prepare(t, r, 2, func(s *SQE) { s.PrepNop(); s.Opcode = 255 })
			prepare(t, r, 3, (*SQE).PrepNop)
			n, errno := r.Enter(0, false, -1, false)
			require.Zero(t, errno)
			if all {
				require.EqualValues(t, 3, n)
			} else {
				require.EqualValues(t, 2, n)
				require.EqualValues(t, 1, r.Prepared(), "what is behind it stays prepared")
			}
			got := reapByData(t, r, 3)
			require.Equal(t, failed(unix.EINVAL), got[2].Res)
			require.Zero(t, got[1].Res)
			require.Zero(t, got[3].Res)
		})
	}
}

func TestTaskrunPending(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8, Flags: IORING_SETUP_SINGLE_ISSUER |
		IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG})
	a, b := socketpair(t, unix.SOCK_STREAM)
	prepare(t, r, 1, func(s *SQE) { s.PrepPollAdd(a, unix.POLLIN, false) })
	submit(t, r)
	require.False(t, r.TaskrunPending())
	_, err := unix.Write(b, []byte{1})
	require.NoError(t, err)
	require.True(t, r.TaskrunPending())
	require.Zero(t, r.CQReady())
	_, errno := r.Enter(0, true, -1, false)
	require.Zero(t, errno)
	require.EqualValues(t, 1, r.CQReady())
	require.False(t, r.TaskrunPending())
	r.AdvanceCQ(1)
}

func TestSetupErrors(t *testing.T) {
	newTestRing(t, Params{Entries: 1}) // skips where there is no io_uring
	for _, p := range []Params{
		{Entries: 0},
		{Entries: 1 << 20},
		{Entries: 8, CQEntries: 4},
		{Entries: 8, Flags: IORING_SETUP_SQPOLL},
		{Entries: 8, Flags: IORING_SETUP_CQE32},
		{Entries: 8, Flags: 1 << 31},
	} {
		_, err := New(p)
		require.ErrorIs(t, err, unix.EINVAL, "%+v", p)
		var call *os.SyscallError
		require.ErrorAs(t, err, &call)
		require.Equal(t, "io_uring_setup", call.Syscall)
	}
}

func TestClosedRing(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	prepare(t, r, 1, (*SQE).PrepNop)
	require.GreaterOrEqual(t, r.FD(), 0)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	require.Equal(t, -1, r.FD())
	require.Nil(t, r.NextSQE())
	require.Zero(t, r.Prepared())
	require.Zero(t, r.CQReady())
	require.False(t, r.TaskrunPending())
	require.False(t, r.Overflowed())
	_, errno := r.Enter(1, true, -1, false)
	require.Equal(t, unix.EBADF, errno)
	_, err := r.Probe()
	require.ErrorIs(t, err, unix.EBADF)
	_, err = r.NewBufRing(0, 8, 0)
	require.ErrorIs(t, err, unix.EBADF)
}

func TestManyRingsDoNotLeakDescriptors(t *testing.T) {
	first := newTestRing(t, Params{Entries: 8}).FD()
	for range 100 {
		r := newTestRing(t, Params{Entries: 64})
		require.Less(t, r.FD(), first+50)
		require.NoError(t, r.Close())
	}
}

func TestProbe(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	p, err := r.Probe()
	require.NoError(t, err)
	for _, op := range []uint8{IORING_OP_NOP, IORING_OP_ACCEPT, IORING_OP_RECV, IORING_OP_SEND, IORING_OP_ASYNC_CANCEL} {
		require.True(t, p.Supports(op), "operation %d", op)
	}
	require.GreaterOrEqual(t, p.LastOp(), uint8(IORING_OP_RECV))
	require.False(t, p.Supports(p.LastOp()+1))
	require.False(t, p.Supports(255))
}

//go:build !386 && !arm && !mips && !mipsle

package oracle

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	. "github.com/suiro-go/suiro/reactor/internal/uring"
)

type theirSQE = giouring.SubmissionQueueEntry

// pair is one request, as we prepare it and as giouring does.
type pair struct {
	name   string
	ours   func(*SQE)
	theirs func(*theirSQE)
}

// randomPairs is every request that both can prepare, for the same random arguments.
func randomPairs(rnd *rand.Rand) []pair {
	var (
		fd, how   = int(int32(rnd.Uint32())), int(int32(rnd.Uint32()))
		flags, n  = rnd.Uint32(), rnd.Uint32()
		group     = uint16(rnd.Uint32())
		off, data = rnd.Uint64(), rnd.Uint64()
		buf       = make([]byte, 1+rnd.IntN(1<<16))
		msg       = new(unix.Msghdr)
		sa        = new(syscall.Sockaddr) // only its address counts
	)
	bufAt, bufLen := uintptr(ptr(buf)), uint32(len(buf))
	theirMsg := (*syscall.Msghdr)(unsafe.Pointer(msg))
	fromGroup := func(s *theirSQE) {
		s.SetFlags(uint32(giouring.SqeBufferSelect))
		s.BufIG = group
	}
	return []pair{
		{"nop", (*SQE).PrepNop, (*theirSQE).PrepareNop},
		{"accept",
			func(s *SQE) { s.PrepAccept(fd, flags, false) },
			func(s *theirSQE) { s.PrepareAccept(fd, 0, 0, flags) }},
		{"accept multishot",
			func(s *SQE) { s.PrepAccept(fd, flags, true) },
			func(s *theirSQE) { s.PrepareMultishotAccept(fd, 0, 0, int(flags)) }},
		{"recv from a group",
			func(s *SQE) { s.PrepRecv(fd, group, false) },
			func(s *theirSQE) { s.PrepareRecv(fd, 0, 0, 0); fromGroup(s) }},
		{"recv multishot",
			func(s *SQE) { s.PrepRecv(fd, group, true) },
			func(s *theirSQE) { s.PrepareRecvMultishot(fd, 0, 0, 0); fromGroup(s) }},
		{"recv into",
			func(s *SQE) { s.PrepRecvInto(fd, buf, flags) },
			func(s *theirSQE) { s.PrepareRecv(fd, bufAt, bufLen, int(flags)) }},
		{"send",
			func(s *SQE) { s.PrepSend(fd, buf, flags) },
			func(s *theirSQE) { s.PrepareSend(fd, bufAt, bufLen, int(flags)) }},
		{"sendmsg",
			func(s *SQE) { s.PrepSendMsg(fd, msg, flags) },
			func(s *theirSQE) { s.PrepareSendMsg(fd, theirMsg, flags) }},
		{"recvmsg",
			func(s *SQE) { s.PrepRecvMsg(fd, msg, flags) },
			func(s *theirSQE) { s.PrepareRecvMsg(fd, theirMsg, flags) }},
		{"recvmsg from a group",
			func(s *SQE) { s.PrepRecvMsgGroup(fd, msg, flags, group, false) },
			func(s *theirSQE) { s.PrepareRecvMsg(fd, theirMsg, flags); fromGroup(s) }},
		{"recvmsg multishot",
			func(s *SQE) { s.PrepRecvMsgGroup(fd, msg, flags, group, true) },
			func(s *theirSQE) { s.PrepareRecvMsgMultishot(fd, theirMsg, flags); fromGroup(s) }},
		{"connect",
			func(s *SQE) { s.PrepConnect(fd, unsafe.Pointer(sa), n) },
			func(s *theirSQE) { s.PrepareConnect(fd, sa, uint64(n)) }},
		{"cancel",
			func(s *SQE) { s.PrepCancel(data, flags) },
			func(s *theirSQE) { s.PrepareCancel64(data, int(flags)) }},
		{"cancel by descriptor",
			func(s *SQE) { s.PrepCancelFD(fd, flags) },
			func(s *theirSQE) { s.PrepareCancelFd(fd, flags) }},
		{"close",
			func(s *SQE) { s.PrepClose(fd) },
			func(s *theirSQE) { s.PrepareClose(fd) }},
		{"shutdown",
			func(s *SQE) { s.PrepShutdown(fd, how) },
			func(s *theirSQE) { s.PrepareShutdown(fd, how) }},
		{"read",
			func(s *SQE) { s.PrepRead(fd, buf, off) },
			func(s *theirSQE) { s.PrepareRead(fd, bufAt, bufLen, off) }},
		{"poll",
			func(s *SQE) { s.PrepPollAdd(fd, flags, false) },
			func(s *theirSQE) { s.PreparePollAdd(fd, flags) }},
		{"poll multishot",
			func(s *SQE) { s.PrepPollAdd(fd, flags, true) },
			func(s *theirSQE) { s.PreparePollMultishot(fd, flags) }},
		{"msg ring",
			func(s *SQE) { s.PrepMsgRing(fd, n, data) },
			func(s *theirSQE) { s.PrepareMsgRing(fd, n, data, 0) }},
		{"timeout", // giouring passes the address of its own pointer: that field is made equal
			func(s *SQE) { s.PrepTimeout(&Timespec{Sec: 1}, n, flags); s.Addr = 0 },
			func(s *theirSQE) { s.PrepareTimeout(&syscall.Timespec{Sec: 1}, n, flags); s.Addr = 0 }},
	}
}

func TestOracleEntries(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		for _, p := range randomPairs(rnd) {
			var ours SQE
			var theirs theirSQE
			p.ours(&ours)
			p.theirs(&theirs)
			ours.UserData = rnd.Uint64()
			theirs.SetData64(ours.UserData)
			got, want := *(*[64]byte)(unsafe.Pointer(&ours)), *(*[64]byte)(unsafe.Pointer(&theirs))
			if got != want {
				t.Fatalf("%s:\nours   %x\ntheirs %x", p.name, got, want)
			}
		}
	}
}

func TestOracleProbe(t *testing.T) {
	ours, err := newTestRing(t, Params{Entries: 2}).Probe()
	require.NoError(t, err)
	theirs, err := giouring.GetProbe()
	require.NoError(t, err)
	require.Equal(t, theirs.LastOp, ours.LastOp())
	for op := range 256 {
		require.Equal(t, theirs.IsSupported(uint8(op)), ours.Supports(uint8(op)), "operation %d", op)
	}
}

//go:build giouring && linux

// The oracle: giouring is an independent translation of liburing. Programs cannot link it any more (see
// the design), a test can:
//
//	go test -tags giouring -ldflags=-checklinkname=0 ./reactor/internal/uring/
package uring

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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

func TestOracleConstants(t *testing.T) {
	equal := func(name string, ours, theirs any) {
		t.Helper()
		require.EqualValues(t, theirs, ours, name)
	}
	equal("IOPOLL", IORING_SETUP_IOPOLL, giouring.SetupIOPoll)
	equal("SQPOLL", IORING_SETUP_SQPOLL, giouring.SetupSQPoll)
	equal("SQ_AFF", IORING_SETUP_SQ_AFF, giouring.SetupSQAff)
	equal("CQSIZE", IORING_SETUP_CQSIZE, giouring.SetupCQSize)
	equal("CLAMP", IORING_SETUP_CLAMP, giouring.SetupClamp)
	equal("ATTACH_WQ", IORING_SETUP_ATTACH_WQ, giouring.SetupAttachWQ)
	equal("R_DISABLED", IORING_SETUP_R_DISABLED, giouring.SetupRDisabled)
	equal("SUBMIT_ALL", IORING_SETUP_SUBMIT_ALL, giouring.SetupSubmitAll)
	equal("COOP_TASKRUN", IORING_SETUP_COOP_TASKRUN, giouring.SetupCoopTaskrun)
	equal("TASKRUN_FLAG", IORING_SETUP_TASKRUN_FLAG, giouring.SetupTaskrunFlag)
	equal("SQE128", IORING_SETUP_SQE128, giouring.SetupSQE128)
	equal("CQE32", IORING_SETUP_CQE32, giouring.SetupCQE32)
	equal("SINGLE_ISSUER", IORING_SETUP_SINGLE_ISSUER, giouring.SetupSingleIssuer)
	equal("DEFER_TASKRUN", IORING_SETUP_DEFER_TASKRUN, giouring.SetupDeferTaskrun)
	equal("NO_MMAP", IORING_SETUP_NO_MMAP, giouring.SetupNoMmap)
	equal("REGISTERED_FD_ONLY", IORING_SETUP_REGISTERED_FD_ONLY, giouring.SetupRegisteredFdOnly)

	equal("SINGLE_MMAP", IORING_FEAT_SINGLE_MMAP, giouring.FeatSingleMMap)
	equal("NODROP", IORING_FEAT_NODROP, giouring.FeatNoDrop)
	equal("SUBMIT_STABLE", IORING_FEAT_SUBMIT_STABLE, giouring.FeatSubmitStable)
	equal("RW_CUR_POS", IORING_FEAT_RW_CUR_POS, giouring.FeatRWCurPos)
	equal("CUR_PERSONALITY", IORING_FEAT_CUR_PERSONALITY, giouring.FeatCurPersonality)
	equal("FAST_POLL", IORING_FEAT_FAST_POLL, giouring.FeatFastPoll)
	equal("POLL_32BITS", IORING_FEAT_POLL_32BITS, giouring.FeatPoll32Bits)
	equal("SQPOLL_NONFIXED", IORING_FEAT_SQPOLL_NONFIXED, giouring.FeatSQPollNonfixed)
	equal("EXT_ARG", IORING_FEAT_EXT_ARG, giouring.FeatExtArg)
	equal("NATIVE_WORKERS", IORING_FEAT_NATIVE_WORKERS, giouring.FeatNativeWorkers)
	equal("RSRC_TAGS", IORING_FEAT_RSRC_TAGS, giouring.FeatRcrcTags)
	equal("CQE_SKIP", IORING_FEAT_CQE_SKIP, giouring.FeatCQESkip)
	equal("LINKED_FILE", IORING_FEAT_LINKED_FILE, giouring.FeatLinkedFile)
	equal("REG_REG_RING", IORING_FEAT_REG_REG_RING, giouring.FeatRegRegRing)

	equal("FIXED_FILE", IOSQE_FIXED_FILE, giouring.SqeFixedFile)
	equal("IO_DRAIN", IOSQE_IO_DRAIN, giouring.SqeIODrain)
	equal("IO_LINK", IOSQE_IO_LINK, giouring.SqeIOLink)
	equal("IO_HARDLINK", IOSQE_IO_HARDLINK, giouring.SqeIOHardlink)
	equal("ASYNC", IOSQE_ASYNC, giouring.SqeAsync)
	equal("BUFFER_SELECT", IOSQE_BUFFER_SELECT, giouring.SqeBufferSelect)
	equal("CQE_SKIP_SUCCESS", IOSQE_CQE_SKIP_SUCCESS, giouring.SqeCQESkipSuccess)

	equal("POLL_REMOVE", IORING_OP_POLL_REMOVE, giouring.OpPollRemove)
	equal("TIMEOUT_REMOVE", IORING_OP_TIMEOUT_REMOVE, giouring.OpTimeoutRemove)
	equal("LINK_TIMEOUT", IORING_OP_LINK_TIMEOUT, giouring.OpLinkTimeout)
	equal("WRITE", IORING_OP_WRITE, giouring.OpWrite)
	equal("SPLICE", IORING_OP_SPLICE, giouring.OpSplice)
	equal("PROVIDE_BUFFERS", IORING_OP_PROVIDE_BUFFERS, giouring.OpProvideBuffers)
	equal("REMOVE_BUFFERS", IORING_OP_REMOVE_BUFFERS, giouring.OpRemoveBuffers)
	equal("SOCKET", IORING_OP_SOCKET, giouring.OpSocket)
	equal("URING_CMD", IORING_OP_URING_CMD, giouring.OpUringCmd)
	equal("SEND_ZC", IORING_OP_SEND_ZC, giouring.OpSendZC)
	equal("SENDMSG_ZC", IORING_OP_SENDMSG_ZC, giouring.OpSendMsgZC)

	equal("ACCEPT_MULTISHOT", IORING_ACCEPT_MULTISHOT, giouring.AcceptMultishot)
	equal("POLL_FIRST", IORING_RECVSEND_POLL_FIRST, giouring.RecvsendPollFirst)
	equal("RECV_MULTISHOT", IORING_RECV_MULTISHOT, giouring.RecvMultishot)
	equal("FIXED_BUF", IORING_RECVSEND_FIXED_BUF, giouring.RecvsendFixedBuf)
	equal("ZC_REPORT_USAGE", IORING_SEND_ZC_REPORT_USAGE, giouring.SendZCReportUsage)
	equal("POLL_UPDATE_EVENTS", IORING_POLL_UPDATE_EVENTS, giouring.PollUpdateEvents)
	equal("POLL_UPDATE_USER_DATA", IORING_POLL_UPDATE_USER_DATA, giouring.PollUpdateUserData)
	equal("POLL_ADD_LEVEL", IORING_POLL_ADD_LEVEL, giouring.PollAddLevel)
	equal("CANCEL_ALL", IORING_ASYNC_CANCEL_ALL, giouring.AsyncCancelAll)
	equal("CANCEL_ANY", IORING_ASYNC_CANCEL_ANY, giouring.AsyncCancelAny)
	equal("CANCEL_FD_FIXED", IORING_ASYNC_CANCEL_FD_FIXED, giouring.AsyncCancelFdFixed)
	equal("TIMEOUT_ABS", IORING_TIMEOUT_ABS, giouring.TimeoutAbs)
	equal("TIMEOUT_UPDATE", IORING_TIMEOUT_UPDATE, giouring.TimeoutUpdate)
	equal("TIMEOUT_BOOTTIME", IORING_TIMEOUT_BOOTTIME, giouring.TimeoutBoottime)
	equal("TIMEOUT_REALTIME", IORING_TIMEOUT_REALTIME, giouring.TimeoutRealtime)
	equal("LINK_TIMEOUT_UPDATE", IORING_LINK_TIMEOUT_UPDATE, giouring.LinkTimeoutUpdate)
	equal("ETIME_SUCCESS", IORING_TIMEOUT_ETIME_SUCCESS, giouring.TimeoutETimeSuccess)
	equal("TIMEOUT_MULTISHOT", IORING_TIMEOUT_MULTISHOT, giouring.TimeoutMultishot)
	equal("MSG_DATA", IORING_MSG_DATA, giouring.MsgData)
	equal("MSG_RING_CQE_SKIP", IORING_MSG_RING_CQE_SKIP, giouring.MsgRingCQESkip)
	equal("MSG_RING_FLAGS_PASS", IORING_MSG_RING_FLAGS_PASS, giouring.MsgRingFlagsPass)
	equal("ZC_COPIED", IORING_NOTIF_USAGE_ZC_COPIED, giouring.NotifUsageZCCopied)

	equal("F_BUFFER", IORING_CQE_F_BUFFER, giouring.CQEFBuffer)
	equal("F_MORE", IORING_CQE_F_MORE, giouring.CQEFMore)
	equal("F_SOCK_NONEMPTY", IORING_CQE_F_SOCK_NONEMPTY, giouring.CQEFSockNonempty)
	equal("F_NOTIF", IORING_CQE_F_NOTIF, giouring.CQEFNotif)
	equal("BUFFER_SHIFT", IORING_CQE_BUFFER_SHIFT, giouring.CQEBufferShift)

	equal("NEED_WAKEUP", IORING_SQ_NEED_WAKEUP, giouring.SQNeedWakeup)
	equal("CQ_OVERFLOW", IORING_SQ_CQ_OVERFLOW, giouring.SQCQOverflow)
	equal("TASKRUN", IORING_SQ_TASKRUN, giouring.SQTaskrun)
	equal("GETEVENTS", IORING_ENTER_GETEVENTS, giouring.EnterGetEvents)
	equal("SQ_WAKEUP", IORING_ENTER_SQ_WAKEUP, giouring.EnterSQWakeup)
	equal("SQ_WAIT", IORING_ENTER_SQ_WAIT, giouring.EnterSQWait)
	equal("EXT_ARG", IORING_ENTER_EXT_ARG, giouring.EnterExtArg)
	equal("REGISTERED_RING", IORING_ENTER_REGISTERED_RING, giouring.EnterRegisteredRing)

	equal("REGISTER_PROBE", IORING_REGISTER_PROBE, giouring.RegisterProbe)
	equal("REGISTER_PBUF_RING", IORING_REGISTER_PBUF_RING, giouring.RegisterPbufRing)
	equal("UNREGISTER_PBUF_RING", IORING_UNREGISTER_PBUF_RING, giouring.UnregisterPbufRing)
	equal("PBUF_RING_MMAP", IOU_PBUF_RING_MMAP, giouring.PbufRingMMap)
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
	l.groups[g] = newTestBufRing(t, l.r, g, uint32(n), 0)
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
		return pair{ours: func(s *SQE) { s.PrepCancel(target, 0) }, theirs: func(s *theirSQE) { s.PrepareCancel64(target, 0) }}
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

package uring

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fillAll sets every field of the entry to ones.
func fillAll(s *SQE) { fillBytes((*[64]byte)(unsafe.Pointer(s))) }

func fillBytes(p *[64]byte) {
	for i := range p {
		p[i] = 0xff
	}
}

// preps is every Prep method with some arguments.
func preps() map[string]func(*SQE) {
	var (
		buf = make([]byte, 10)
		msg = &unix.Msghdr{Namelen: 16}
		sa  = &unix.RawSockaddrInet4{}
		ts  = &Timespec{Sec: 1}
	)
	return map[string]func(*SQE){
		"nop":                  (*SQE).PrepNop,
		"accept":               func(s *SQE) { s.PrepAccept(3, unix.SOCK_CLOEXEC, false) },
		"accept multishot":     func(s *SQE) { s.PrepAccept(3, unix.SOCK_CLOEXEC, true) },
		"recv":                 func(s *SQE) { s.PrepRecv(3, 7, false) },
		"recv multishot":       func(s *SQE) { s.PrepRecv(3, 7, true) },
		"recv into":            func(s *SQE) { s.PrepRecvInto(3, buf, unix.MSG_PEEK) },
		"send":                 func(s *SQE) { s.PrepSend(3, buf, unix.MSG_NOSIGNAL) },
		"sendmsg":              func(s *SQE) { s.PrepSendMsg(3, msg, 5) },
		"recvmsg":              func(s *SQE) { s.PrepRecvMsg(3, msg, 5) },
		"recvmsg of a group":   func(s *SQE) { s.PrepRecvMsgGroup(3, msg, 5, 7, true) },
		"connect":              func(s *SQE) { s.PrepConnect(3, unsafe.Pointer(sa), unix.SizeofSockaddrInet4) },
		"cancel":               func(s *SQE) { s.PrepCancel(1<<50, IORING_ASYNC_CANCEL_ALL) },
		"cancel by descriptor": func(s *SQE) { s.PrepCancelFD(3, IORING_ASYNC_CANCEL_ALL) },
		"close":                func(s *SQE) { s.PrepClose(3) },
		"shutdown":             func(s *SQE) { s.PrepShutdown(3, unix.SHUT_WR) },
		"read":                 func(s *SQE) { s.PrepRead(3, buf, ^uint64(0)) },
		"poll":                 func(s *SQE) { s.PrepPollAdd(3, unix.POLLIN, false) },
		"poll multishot":       func(s *SQE) { s.PrepPollAdd(3, unix.POLLIN, true) },
		"poll update":          func(s *SQE) { s.PrepPollUpdate(1<<50, unix.POLLIN) },
		"msg ring":             func(s *SQE) { s.PrepMsgRing(3, 8, 1<<60) },
		"timeout":              func(s *SQE) { s.PrepTimeout(ts, 2, IORING_TIMEOUT_ABS) },
	}
}

func TestPrepSetsTheWholeEntry(t *testing.T) {
	for name, prep := range preps() {
		var clean, dirty SQE
		fillAll(&dirty)
		clean.UserData, dirty.UserData = 77, 77
		clean.Flags, dirty.Flags = IOSQE_ASYNC, IOSQE_ASYNC
		prep(&clean)
		prep(&dirty)
		require.Equal(t, clean, dirty, name)
		require.EqualValues(t, 77, dirty.UserData, name)
		require.NotZero(t, dirty.Flags&IOSQE_ASYNC, name)
	}
}

func TestEveryPrepIsListed(t *testing.T) {
	methods := 0
	typ := reflect.TypeFor[*SQE]()
	for i := range typ.NumMethod() {
		if name := typ.Method(i).Name; len(name) > 4 && name[:4] == "Prep" {
			methods++
		}
	}
	const variants = 3 // accept, recv and poll are listed twice
	require.Equal(t, methods, len(preps())-variants)
}

func TestNilSliceIsAddressZero(t *testing.T) {
	var s SQE
	s.PrepSend(1, nil, 0)
	require.Zero(t, s.Addr)
	require.Zero(t, s.Len)
}

// A buffer that is a local variable must not stay on the stack, which moves when it grows.
func TestLocalBufferSurvivesStackGrowth(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	a, b := socketpair(t, unix.SOCK_STREAM)
	grown := make(chan byte)
	fail := make(chan string, 2)
	go func() { // a fresh, small stack
		defer close(grown)
		var buf [32]byte
		s := r.NextSQE()
		s.PrepRecvInto(a, buf[:], 0)
		before := uintptr(s.Addr)
		grown <- growStack(2000)
		grown <- 0 // the test receives in between
		if after := uintptr(unsafe.Pointer(&buf)); after != before {
			fail <- "the buffer moved"
		}
		if string(buf[:5]) != "hello" {
			fail <- "the bytes went elsewhere"
		}
	}()
	<-grown
	_, err := unix.Write(b, []byte("hello"))
	require.NoError(t, err)
	require.EqualValues(t, 5, reap(t, r, 1)[0].Res)
	for range grown {
	}
	select {
	case msg := <-fail:
		t.Fatal(msg)
	default:
	}
}

//go:noinline
func growStack(depth int) byte {
	var frame [256]byte
	frame[depth%256] = 1
	if depth == 0 {
		return frame[0]
	}
	return growStack(depth-1) + frame[depth%7]
}

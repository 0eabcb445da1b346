package uring

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// This test shows why the reactor does not receive datagrams into an incremental group. A datagram
// gets the rest of the buffer that is being filled. The rest may be shorter than the datagram,
// which is then cut off. It may be shorter than the header: then the receive ends with EFAULT and
// leaves the buffer unchanged.
func TestAnIncrementalGroupCutsDatagramsOff(t *testing.T) {
	const header = recvMsgHeader + unix.SizeofSockaddrInet6
	for name, c := range map[string]struct {
		size   int // of the one buffer
		second int // length to which the second datagram of 100 bytes is cut off; -1: EFAULT
	}{
		"room for both":             {2*header + 200, 100},
		"room for the one alone":    {2*header + 160, 60},
		"no room for the header":    {2*header + 90, -1},
		"room for the header alone": {2*header + 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestRing(t, Params{Entries: 8})
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			require.NoError(t, err)
			defer unix.Close(fds[0])
			defer unix.Close(fds[1])
			p := newPool(t, r, 1, c.size, IOU_PBUF_RING_INC)
			msg := &unix.Msghdr{Namelen: unix.SizeofSockaddrInet6}
			prepare(t, r, 1, func(s *SQE) { s.PrepRecvMsgGroup(fds[0], msg, 0, poolGroup, true) })
			submit(t, r)
			at := 0
			for i, want := range []int{100, c.second} {
				sent := bytes.Repeat([]byte(fmt.Sprint(i)), 100)
				_, err := unix.Write(fds[1], sent)
				require.NoError(t, err)
				e := reap(t, r, 1)[0]
				if want < 0 {
					require.Equal(t, failed(unix.EFAULT), e.Res)
					require.False(t, e.More())
					break
				}
				require.EqualValues(t, header+want, e.Res)
				m, ok := ParseRecvMsg(p.buffer(0)[at:][:e.Res], msg)
				require.True(t, ok)
				require.Equal(t, sent[:want], m.Payload)
				require.Equal(t, want < 100, m.Flags&unix.MSG_TRUNC != 0)
				at += int(e.Res)
			}
			cancelAll(t, r)
		})
	}
}

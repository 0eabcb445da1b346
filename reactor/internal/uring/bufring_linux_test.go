package uring

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pool is off-heap memory cut into the buffers of a group: buffer i has the id i.
const poolGroup = MinResetGroup

type pool struct {
	ring *BufRing
	mem  []byte
	size int
}

func newPool(t *testing.T, r *Ring, entries uint32, size int, flags uint16) *pool {
	t.Helper()
	p := &pool{mem: offHeap(t, int(entries)*size), size: size}
	p.ring = newTestBufRing(t, r, poolGroup, entries, flags)
	for bid := range entries {
		p.add(uint16(bid))
	}
	p.ring.Advance()
	return p
}

func (p *pool) buffer(bid uint16) []byte { return p.mem[int(bid)*p.size:][:p.size] }

func (p *pool) add(bid uint16) { p.ring.Add(ptr(p.buffer(bid)), uint32(p.size), bid) }

// cancelAll ends every request of the ring, so that its buffers may be unmapped.
func cancelAll(t *testing.T, r *Ring) {
	t.Helper()
	prepare(t, r, ^uint64(0), func(s *SQE) { s.PrepCancel(0, IORING_ASYNC_CANCEL_ANY|IORING_ASYNC_CANCEL_ALL) })
	for {
		if got := reap(t, r, 1)[0]; got.UserData == ^uint64(0) {
			break
		}
	}
	for ; r.CQReady() > 0; r.AdvanceCQ(1) {
	}
}

func armRecv(t *testing.T, r *Ring, fd int, group uint16) {
	t.Helper()
	prepare(t, r, 1, func(s *SQE) { s.PrepRecv(fd, group, true) })
	submit(t, r)
}

func TestMultishotReceive(t *testing.T) {
	for _, entries := range []uint32{1, 2, 8, 64} {
		t.Run(fmt.Sprint(entries), func(t *testing.T) {
			r := newTestRing(t, Params{Entries: 8, CQEntries: 256})
			a, b := socketpair(t, unix.SOCK_STREAM)
			p := newPool(t, r, entries, 32, 0)
			armRecv(t, r, a, poolGroup)
			for i := range 500 { // around the ring many times, one buffer at a time
				sent := fmt.Appendf(nil, "message %d", i)
				_, err := unix.Write(b, sent)
				require.NoError(t, err)
				got := reap(t, r, 1)[0]
				if entries == 1 && got.Res == failed(unix.ENOBUFS) {
					// Linux 6.1 tries the next receive at once, even if the socket is empty, and
					// finds no buffer.
					require.False(t, got.More())
					armRecv(t, r, a, poolGroup)
					got = reap(t, r, 1)[0]
				}
				require.EqualValues(t, len(sent), got.Res)
				require.True(t, got.More())
				require.True(t, got.HasBuffer())
				require.False(t, got.BufMore())
				require.EqualValues(t, uint32(i)%entries, got.BufferID(), "buffers are taken in order")
				require.Equal(t, sent, p.buffer(got.BufferID())[:got.Res])
				p.add(got.BufferID())
				p.ring.Advance()
			}
			cancelAll(t, r)
		})
	}
}

func TestEmptyGroupEndsTheMultishot(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	a, b := socketpair(t, unix.SOCK_STREAM)
	p := newPool(t, r, 4, 2, 0)
	armRecv(t, r, a, poolGroup)
	_, err := unix.Write(b, []byte("aabbccddee"))
	require.NoError(t, err)

	var text []byte
	got := reap(t, r, 5)
	for i, c := range got[:4] {
		require.EqualValues(t, 2, c.Res)
		require.True(t, c.More())
		require.EqualValues(t, i, c.BufferID())
		text = append(text, p.buffer(c.BufferID())...)
	}
	require.Equal(t, failed(unix.ENOBUFS), got[4].Res)
	require.False(t, got[4].More())
	require.False(t, got[4].HasBuffer())

	p.add(2) // in another order than they came
	p.add(0)
	p.ring.Advance()
	p.ring.Advance() // nothing new: no effect
	armRecv(t, r, a, poolGroup)
	c := reap(t, r, 1)[0]
	require.EqualValues(t, 2, c.BufferID())
	text = append(text, p.buffer(2)...)
	require.Equal(t, "aabbccddee", string(text))
	_, err = unix.Write(b, []byte("ff"))
	require.NoError(t, err)
	require.EqualValues(t, 0, reap(t, r, 1)[0].BufferID())
	cancelAll(t, r)
}

func TestSingleReceiveFromAGroup(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	a, b := socketpair(t, unix.SOCK_STREAM)
	p := newPool(t, r, 4, 16, 0)
	_, err := unix.Write(b, []byte("once"))
	require.NoError(t, err)
	prepare(t, r, 1, func(s *SQE) { s.PrepRecv(a, poolGroup, false) })
	got := reap(t, r, 1)[0]
	require.False(t, got.More())
	require.Equal(t, "once", string(p.buffer(got.BufferID())[:got.Res]))
}

// Every id comes back, in order, from rings whose index or offset would overflow 16 bits if
// computed in them; twice around, so that the tail wraps too.
func TestLargeBufferRings(t *testing.T) {
	for _, entries := range []uint32{4096, 8192, 32768} {
		t.Run(fmt.Sprint(entries), func(t *testing.T) {
			r := newTestRing(t, Params{Entries: 8, CQEntries: 1024})
			a, b := socketpair(t, unix.SOCK_STREAM)
			p := newPool(t, r, entries, 1, 0)
			armRecv(t, r, a, poolGroup)
			const chunk = 128
			rounds := 2*65536 + int(entries)
			for i := 0; i < rounds; i += chunk {
				sent := bytes.Repeat([]byte{byte(i / chunk)}, chunk)
				_, err := unix.Write(b, sent)
				require.NoError(t, err)
				ended := false
				for taken := 0; taken < chunk; {
					c := reap(t, r, 1)[0]
					if !c.HasBuffer() { // the kernel ends a multishot of its own accord when it runs long
						t.Fatalf("no buffer: %v", c)
					}
					if want := uint16(uint32(i+taken) % entries); c.BufferID() != want || c.Res != 1 {
						t.Fatalf("want buffer %d: %v", want, c)
					}
					if p.mem[c.BufferID()] != sent[taken] {
						t.Fatalf("buffer %d holds %d", c.BufferID(), p.mem[c.BufferID()])
					}
					taken++
					p.add(c.BufferID())
					if ended = !c.More(); ended {
						p.ring.Advance()
						armRecv(t, r, a, poolGroup)
					}
				}
				p.ring.Advance()
			}
			cancelAll(t, r)
		})
	}
}

// The word that publishes the tail also holds the id of entry 0: it must survive, whatever the
// tail.
func TestAdvanceKeepsEntryZero(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	for _, entries := range []uint32{1, 4, 4096, 32768} {
		b := newTestBufRing(t, r, uint16(entries), entries, 0)
		slots := unsafe.Slice(b.entries, entries)
		mem := offHeap(t, 1)
		var model []bufEntry // what the ring must hold, tail aside
		model = append(model, make([]bufEntry, entries)...)
		for i := range uint32(3 * 65536) {
			bid := uint16(i*40503 + 1)
			b.Add(ptr(mem), i, bid)
			model[i%entries] = bufEntry{addr: addr(ptr(mem)), n: i, bid: bid}
			if tail := slots[0].resv; tail != b.tail {
				t.Fatalf("adding moved the tail from %d to %d", b.tail, tail)
			}
			if i%5 == 0 {
				b.Advance()
				if tail := slots[0].resv; tail != uint16(i+1) {
					t.Fatalf("tail %d after %d buffers", tail, i+1)
				}
				if slots[0].bid != model[0].bid {
					t.Fatalf("id of entry 0 is %d, not %d", slots[0].bid, model[0].bid)
				}
			}
		}
		b.Advance()
		model[0].resv = b.tail
		require.Equal(t, model, slots)
	}
}

func TestIncrementalBuffers(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	a, b := socketpair(t, unix.SOCK_STREAM)
	p := newPool(t, r, 2, 10, IOU_PBUF_RING_INC)
	armRecv(t, r, a, poolGroup)
	send := func(s string) CQE {
		_, err := unix.Write(b, []byte(s))
		require.NoError(t, err)
		return reap(t, r, 1)[0]
	}
	for i, part := range []string{"aaaa", "bbb"} {
		c := send(part)
		require.EqualValues(t, 0, c.BufferID())
		require.EqualValues(t, len(part), c.Res)
		require.True(t, c.BufMore(), "part %d leaves room in the buffer", i)
	}
	c := send("ccc") // fills it to the brim
	require.EqualValues(t, 0, c.BufferID())
	require.False(t, c.BufMore())
	require.Equal(t, "aaaabbbccc", string(p.buffer(0)))

	c = send("dd")
	require.EqualValues(t, 1, c.BufferID())
	require.True(t, c.BufMore())
	p.add(0) // id and length are as new, though the kernel wrote to the entry
	p.ring.Advance()
	_, err := unix.Write(b, []byte("eeeeeeeeffff")) // the rest of buffer 1, and on into 0
	require.NoError(t, err)
	got := reap(t, r, 2)
	require.EqualValues(t, 1, got[0].BufferID())
	require.EqualValues(t, 8, got[0].Res)
	require.False(t, got[0].BufMore())
	require.EqualValues(t, 0, got[1].BufferID())
	require.EqualValues(t, 4, got[1].Res)
	require.True(t, got[1].BufMore())
	require.Equal(t, "ffffbbbcccddeeeeeeee", string(p.mem))
	cancelAll(t, r)
}

func TestMultishotMessages(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	server, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(server)) }()
	require.NoError(t, unix.Bind(server, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	to, err := unix.Getsockname(server)
	require.NoError(t, err)
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(client)) }()
	require.NoError(t, unix.Bind(client, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	from, err := unix.Getsockname(client)
	require.NoError(t, err)

	const room = 32
	p := newPool(t, r, 4, recvMsgHeader+unix.SizeofSockaddrInet6+room, 0)
	msg := &unix.Msghdr{Namelen: unix.SizeofSockaddrInet6}
	arm := func() {
		prepare(t, r, 1, func(s *SQE) { s.PrepRecvMsgGroup(server, msg, 0, poolGroup, true) })
		submit(t, r)
	}
	arm()
	for _, sent := range []string{"datagram", "", strings.Repeat("x", room), strings.Repeat("y", room+1)} {
		require.NoError(t, unix.Sendto(client, []byte(sent), 0, to))
		c := reap(t, r, 1)[0]
		require.Positive(t, c.Res)
		// An empty datagram ends the multishot, as the end of a stream would: a user that relies on
		// More re-arms.
		require.Equal(t, sent != "", c.More(), "%q", sent)
		if !c.More() {
			arm()
		}
		m, ok := ParseRecvMsg(p.buffer(c.BufferID())[:c.Res], msg)
		require.True(t, ok)
		require.Equal(t, sent[:min(len(sent), room)], string(m.Payload))
		require.Equal(t, len(sent) > room, m.Flags&unix.MSG_TRUNC != 0)
		require.Empty(t, m.Control)
		require.Len(t, m.Name, unix.SizeofSockaddrInet4)
		port := int(m.Name[2])<<8 | int(m.Name[3])
		require.Equal(t, from.(*unix.SockaddrInet4).Port, port)
		p.add(c.BufferID())
		p.ring.Advance()
	}
	cancelAll(t, r)

	_, ok := ParseRecvMsg(make([]byte, 15), msg)
	require.False(t, ok)
}

func TestBufRingErrors(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	newTestBufRing(t, r, 1, 8, 0)
	_, err := r.NewBufRing(1, 8, 0)
	require.ErrorIs(t, err, unix.EEXIST)
	for _, entries := range []uint32{0, 3, 65536} {
		_, err = r.NewBufRing(2, entries, 0)
		require.ErrorIs(t, err, unix.EINVAL)
	}
	_, err = r.NewBufRing(2, 8, IOU_PBUF_RING_MMAP)
	require.ErrorIs(t, err, unix.EINVAL)
	_, err = r.NewBufRing(2, 8, 1<<15)
	require.ErrorIs(t, err, unix.EINVAL)
}

func TestResetEmptiesTheGroup(t *testing.T) {
	for _, flags := range []uint16{0, IOU_PBUF_RING_INC} {
		t.Run(fmt.Sprintf("flags %#x", flags), func(t *testing.T) {
			r := newTestRing(t, Params{Entries: 8})
			a, b := socketpair(t, unix.SOCK_STREAM)
			p := newPool(t, r, 4, 4, flags)
			for range 3 {
				armRecv(t, r, a, poolGroup)
				_, err := unix.Write(b, []byte("abcdef")) // a buffer and a half
				require.NoError(t, err)
				require.EqualValues(t, 0, reap(t, r, 1)[0].BufferID())
				require.EqualValues(t, 1, reap(t, r, 1)[0].BufferID())
				cancelAll(t, r)
				require.NoError(t, p.ring.Reset())

				armRecv(t, r, a, poolGroup)
				_, err = unix.Write(b, []byte("g"))
				require.NoError(t, err)
				require.Equal(t, failed(unix.ENOBUFS), reap(t, r, 1)[0].Res, "no buffer is left")
				for bid := range uint16(4) {
					p.add(bid)
				}
				p.ring.Advance()
				armRecv(t, r, a, poolGroup)
				require.EqualValues(t, 0, reap(t, r, 1)[0].BufferID())
				require.EqualValues(t, 'g', p.mem[0])
				cancelAll(t, r)
				require.NoError(t, p.ring.Reset())
				for bid := range uint16(4) {
					p.add(bid)
				}
				p.ring.Advance()
			}
		})
	}
}

func TestAGroupWhoseListMayKeepItsHeadIsNotReset(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	b := newTestBufRing(t, r, MinResetGroup-1, 8, 0)
	require.ErrorIs(t, b.Reset(), unix.EINVAL)
	_, err := r.NewBufRing(MinResetGroup-1, 8, 0)
	require.ErrorIs(t, err, unix.EEXIST, "the group is still there")
}

func TestClosedBufRing(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	b := newTestBufRing(t, r, 1, 8, 0)
	require.EqualValues(t, 1, b.Group())
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	newTestBufRing(t, r, 1, 8, 0) // the group is free again

	a, w := socketpair(t, unix.SOCK_STREAM)
	_, err := unix.Write(w, []byte("x"))
	require.NoError(t, err)
	prepare(t, r, 1, func(s *SQE) { s.PrepRecv(a, 9, true) })
	require.Equal(t, failed(unix.ENOBUFS), reap(t, r, 1)[0].Res, "there is no such group")

	b = newTestBufRing(t, r, 2, 8, 0)
	require.NoError(t, r.Close())
	require.NoError(t, b.Close(), "the ring may go first")
}

package flow_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/flow"
	"github.com/suiro-go/suiro/reactor"
)

// A home is a reactor that counts the chunks it is given back.
type home struct {
	reactor.Reactor
	released int
}

func (h *home) Release(reactor.Buffer) { h.released++ }

func chunk(s string) reactor.Buffer { return reactor.Buffer{Bytes: []byte(s)} }

func read(in *flow.Input, n int) string {
	s := string(in.Unread[:n])
	in.Unread = in.Unread[n:]
	return s
}

func TestAnInputIsTheChunkUntilBytesAreLeft(t *testing.T) {
	var in flow.Input
	var p bufs.Pool
	h := &home{}
	b := chunk("hello")
	in.Attach(&p, h, b)
	require.Same(t, &b.Bytes[0], &in.Unread[0], "it is read in place")
	require.Equal(t, "he", read(&in, 2))
	in.Detach(&p, h)
	require.Equal(t, 1, h.released)
	require.False(t, in.Attached())
	require.Equal(t, "llo", string(in.Unread))
	require.False(t, in.Empty())

	in.Attach(&p, h, chunk(" world")) // behind it, so it is copied
	require.Equal(t, 2, h.released)
	require.Equal(t, "llo world", read(&in, 9))
	in.Detach(&p, h)
	require.True(t, in.Empty())
	require.Equal(t, 2, h.released)
}

func TestReadingAllOfAChunkCopiesNothing(t *testing.T) {
	var in flow.Input
	var p bufs.Pool
	h := &home{}
	in.Attach(&p, h, chunk("hello"))
	read(&in, 5)
	in.Detach(&p, h)
	require.True(t, in.Empty())
	require.Equal(t, 1, h.released)
}

func TestTheOwnBufferDoesNotGrowForBytesThatWereRead(t *testing.T) {
	var in flow.Input
	var p bufs.Pool
	h := &home{}
	piece := make([]byte, bufs.Small-1)
	for i := range 20 {
		in.Attach(&p, h, reactor.Buffer{Bytes: piece})
		in.Detach(&p, h)
		if i > 0 {
			read(&in, len(piece))
		}
	}
	require.Len(t, in.Unread, len(piece))
	require.LessOrEqual(t, in.Kept(), 4*bufs.Small)
}

func TestBorrowedMemoryGoesBehindWhatIsUnread(t *testing.T) {
	var in flow.Input
	var p bufs.Pool
	var s flow.Scratch
	in.Attach(&p, &home{}, chunk("abc"))
	read(&in, 1)
	in.Detach(&p, &home{})
	room := in.Room(&p, &s, 8)
	require.Len(t, room.Bytes, 6)
	require.Equal(t, "bc", string(in.Unread), "nothing has changed yet")
	copy(room.Bytes, "def")
	in.Arrived(&p, &s, room, 3)
	require.Equal(t, "bcdef", string(in.Unread))
	read(&in, 4)
	in.Detach(&p, nil) // the worker's memory is released to nobody
	copy(s.Room(8), "xxxxxxxx")
	require.Equal(t, "f", string(in.Unread))
}

// So much that a copy would cost more than room in the own buffer.
func TestMuchUnreadIsNotCopiedForARead(t *testing.T) {
	var in flow.Input
	var p bufs.Pool
	var s flow.Scratch
	in.Attach(&p, &home{}, chunk("abc"))
	in.Detach(&p, &home{})
	before := &in.Unread[0]
	room := in.Room(&p, &s, 8)
	require.GreaterOrEqual(t, len(room.Bytes), 2)
	copy(room.Bytes, "de")
	in.Arrived(&p, &s, room, 2)
	require.Equal(t, "abcde", string(in.Unread))
	require.Same(t, before, &in.Unread[0])
	require.False(t, in.Attached())
}

func TestSpaceExtendsWhatIsUnread(t *testing.T) {
	var in flow.Input
	var p bufs.Pool
	for range 3 {
		n := copy(in.Space(&p, 10), "0123456789")
		in.Extend(n)
		read(&in, 5)
	}
	require.Equal(t, "567890123456789", string(in.Unread))
	in.Drop(&p)
	require.True(t, in.Empty())
}

// file is a piece of a file of its own.
func file(t *testing.T, contents string) *flow.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, []byte(contents), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	return &flow.File{File: f, FD: int(f.Fd()), Left: int64(len(contents))}
}

func TestAnOutputKeepsTheOrderOfBytesAndFiles(t *testing.T) {
	var o flow.Output
	var p bufs.Pool
	flow.Append(&o, &p, "head")
	first, second := file(t, "12345"), file(t, "678")
	o.AddFile(first)
	flow.Append(&o, &p, []byte("mid"))
	o.AddFile(second)
	copy(o.Room(&p, 4)[:4], "tail")
	o.Extend(4)
	require.Equal(t, "head", string(o.Queued))
	require.Equal(t, 7, o.Memory())
	require.Equal(t, int64(8), o.FileBytes())
	require.Equal(t, 2, o.Files())

	o.Replace(&p, nil)
	require.Same(t, first, o.First())
	o.Went(5)
	require.Zero(t, first.Left)
	o.EndFile(&p)
	require.Equal(t, "mid", string(o.Queued))
	require.Error(t, first.Close(), "it is closed")

	o.Went(3)
	o.EndFile(&p) // later bytes go behind those that are still queued
	require.Equal(t, "midtail", string(o.Queued))
	require.Zero(t, o.Memory())
	require.Zero(t, o.FileBytes())
	require.Nil(t, o.First())
	require.Equal(t, "midtail", string(o.Take()))
	require.True(t, o.Empty())
}

func TestABufferIsAdoptedWhereNothingIsQueued(t *testing.T) {
	var o flow.Output
	var p bufs.Pool
	b := append(p.Get(3), "abc"...)
	o.Adopt(&p, b)
	require.Same(t, &b[0], &o.Queued[0])
	o.Adopt(&p, append(p.Get(3), "def"...))
	require.Equal(t, "abcdef", string(o.Queued))
	o.Take()
	o.AddFile(file(t, "x"))
	o.Adopt(&p, append(p.Get(3), "ghi"...))
	require.Empty(t, o.Queued)
	require.Equal(t, 3, o.Memory())
}

func TestDroppingAnOutputClosesItsFiles(t *testing.T) {
	var o flow.Output
	var p bufs.Pool
	f := file(t, "x")
	flow.Append(&o, &p, "a")
	o.AddFile(f)
	flow.Append(&o, &p, "b")
	o.Drop(&p)
	require.True(t, o.Empty())
	require.Zero(t, o.Memory())
	require.Zero(t, o.FileBytes())
	require.Error(t, f.Close())
}

func TestAFileThatIsLoadedIsReadInPieces(t *testing.T) {
	var o flow.Output
	var p bufs.Pool
	contents := strings.Repeat("x", bufs.Large) + "rest"
	f := file(t, contents)
	f.Left++ // it has become shorter
	o.AddFile(f)
	got := ""
	for range 2 {
		n, err := o.Load(&p)
		require.NoError(t, err)
		require.Len(t, o.Queued, n)
		got += string(o.Take())
	}
	require.Equal(t, contents, got)
	require.Equal(t, int64(1), o.FileBytes())
	_, err := o.Load(&p)
	require.ErrorIs(t, err, io.EOF)
	require.Empty(t, o.Queued)
	o.Drop(&p)
}

func TestAPieceIsWhatAReaderOfARegularFileHasToGive(t *testing.T) {
	open := func(contents string) *os.File {
		f := file(t, contents).File
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	page := os.Getpagesize()
	sized := strings.Repeat("x", page+1)
	f := open(sized)
	_, err := f.Seek(3, io.SeekStart)
	require.NoError(t, err)
	p, ok := flow.PieceOf(f)
	require.True(t, ok)
	require.Equal(t, int64(3), p.Offset)
	require.Equal(t, int64(page-2), p.Size)
	require.NoError(t, p.Read())
	p, ok = flow.PieceOf(f)
	require.True(t, ok)
	require.Zero(t, p.Size, "all of it was read")

	limited := &io.LimitedReader{R: open(sized), N: 4}
	p, ok = flow.PieceOf(limited)
	require.True(t, ok)
	require.Equal(t, int64(4), p.Size)
	require.NoError(t, p.Read())
	require.Zero(t, limited.N)
	p, ok = flow.PieceOf(limited)
	require.True(t, ok)
	require.Zero(t, p.Size)

	for _, contents := range []string{"", sized[:page]} {
		_, ok = flow.PieceOf(open(contents))
		require.False(t, ok, "it may be one that does not know its size")
	}
	_, ok = flow.PieceOf(strings.NewReader("x"))
	require.False(t, ok)
}

package mailbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/mailbox"
)

type (
	box   = mailbox.Box[byte, string, int]
	batch = mailbox.Batch[byte, string]
	free  = mailbox.FreeQueues[byte, string, int]
)

// lists counts the lists it has given.
type lists int

func (l *lists) ChunkList() []byte {
	*l++
	return make([]byte, 0, 4)
}

func TestAnEmptyBoxHasNoMail(t *testing.T) {
	var b box
	var n batch
	b.Take(&n)
	require.Equal(t, batch{}, n)
	require.Nil(t, b.Rest())
	require.Nil(t, b.Last())
	require.Nil(t, b.Late())
	require.Zero(t, b.Chunks()+b.Commands()+b.Bytes()+b.Shut())
}

func TestATakeMovesAllContentsOut(t *testing.T) {
	var b box
	var l lists
	var m free
	b.Arrived(&m, &l, 'a')
	b.Arrived(&m, &l, 'b')
	require.EqualValues(t, 1, l, "one list has both chunks")
	require.True(t, b.Tell("one", 3))
	*b.Last() += "two"
	b.Grew(3)
	b.RecvEnd(5)
	b.SendEnd(6)
	require.Equal(t, uint32(5), b.RecvErrno())
	require.Equal(t, []int{2, 1, 6}, []int{b.Chunks(), b.Commands(), b.Bytes()})
	var n batch
	b.Take(&n)
	require.Equal(t, batch{Chunks: []byte("ab"), Commands: []string{"onetwo"}, Bytes: 6,
		Signs: mailbox.RecvEnded | mailbox.SendEnded, RecvErrno: 5, SendErrno: 6}, n)
	require.Zero(t, b.Chunks()+b.Commands()+b.Bytes())
	require.Zero(t, b.Signs())
}

func TestARestIsPutBackBeforeLaterChunks(t *testing.T) {
	var b box
	var l lists
	var m free
	for _, c := range []byte("abc") {
		b.Arrived(&m, &l, c)
	}
	b.RecvEnd(5)
	var n batch
	b.Take(&n)
	b.Arrived(&m, &l, 'd')
	require.Equal(t, "d", string(b.PutBack(&m, n.Chunks[1:], &n)))
	require.False(t, n.Signs.Is(mailbox.RecvEnded))
	b.Take(&n)
	require.Equal(t, "bcd", string(n.Chunks))
	require.True(t, n.Signs.Is(mailbox.RecvEnded))
}

func TestTheMailIsGivenBackOnceItIsEmpty(t *testing.T) {
	var b box
	var m free
	*b.Need(&m) = 1
	b.Spare(&m, false)
	require.Equal(t, 1, *b.Rest())
	*b.Rest() = 0
	require.True(t, b.Tell("one", 3))
	b.Spare(&m, true)
	require.NotNil(t, b.Rest())
	require.Equal(t, []string{"one"}, b.Late())
	b.Spare(&m, true)
	require.Nil(t, b.Rest())
	require.Equal(t, 1, m.Len())
	b.Need(&m)
	require.Zero(t, m.Len(), "it is used again")
}

func TestABoxRefusesWritesThenEverything(t *testing.T) {
	var b box
	require.True(t, b.TakesWrites())
	require.True(t, b.Tell("one", 3))
	require.Equal(t, 3, b.Shut())
	require.False(t, b.TakesWrites())
	require.True(t, b.Tell("two", 3), "a command that is no write")
	b.Close()
	b.Shut()
	require.True(t, b.Closed())
	require.False(t, b.Tell("three", 5))
	require.Equal(t, []string{"one", "two"}, b.Late())
}

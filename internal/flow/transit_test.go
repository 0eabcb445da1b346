package flow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/flow"
)

// pooled is a buffer of the pools with these contents.
func pooled(p *bufs.Pool, s string) []byte { return append(p.Get(bufs.Small), s...) }

func TestATransitKeepsTheOrder(t *testing.T) {
	var tr flow.Transit
	var p bufs.Pool
	require.False(t, tr.Extend([]byte("a")), "there is no buffer with room")
	tr.Add(pooled(&p, "one"))
	tr.Add(pooled(&p, "two"))
	require.True(t, tr.Extend([]byte("three")))
	require.Equal(t, 11, tr.Size())
	require.Equal(t, "one", string(tr.First()))
	tr.Went(&p, 1)
	require.Equal(t, "ne", string(tr.First()))
	require.Equal(t, 10, tr.Size())
	require.Equal(t, "ne", string(tr.Take()))
	tr.Went(&p, 3)
	require.Equal(t, "three", string(tr.First()))
	tr.Went(&p, 5)
	require.Zero(t, tr.Size())
	require.False(t, tr.Extend([]byte("a")), "the last buffer has gone")
}

// The other end of a splice adds bytes while a call sends those of the first buffer.
func TestBytesAddedToTheFirstBufferStayBehindThoseBeingSent(t *testing.T) {
	var tr flow.Transit
	var p bufs.Pool
	tr.Add(pooled(&p, "abc"))
	sending := tr.First()
	require.True(t, tr.Extend([]byte("def")))
	require.Equal(t, "abc", string(sending))
	tr.Went(&p, len(sending))
	require.Equal(t, "def", string(tr.First()))
	require.Equal(t, 3, tr.Size())
}

func TestBuffersOfATransitAreUsedAgain(t *testing.T) {
	var tr flow.Transit
	var p bufs.Pool
	for name, end := range map[string]func(){
		"sent":    func() { tr.Went(&p, 1); tr.Went(&p, 2) },
		"dropped": func() { tr.Went(&p, 1); tr.Drop(&p) },
	} {
		b := pooled(&p, "abc")
		tr.Add(b)
		end()
		require.Zero(t, tr.Size(), name)
		require.Same(t, &b[0], &p.Get(bufs.Small)[:1][0], name)
	}
}

func TestMuchIsNotCopiedBehindALastBuffer(t *testing.T) {
	var tr flow.Transit
	var p bufs.Pool
	tr.Add(p.Get(bufs.Large)[:1])
	require.False(t, tr.Extend(make([]byte, bufs.Few+1)))
	require.True(t, tr.Extend(make([]byte, bufs.Few)))
	tr.Add(p.Get(bufs.Small)[:bufs.Small-1])
	require.False(t, tr.Extend([]byte("ab")), "it has room for one byte")
	require.True(t, tr.Extend([]byte("a")))
}

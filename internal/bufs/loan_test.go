package bufs

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A random sequence of calls gives the bytes in order, and lent bytes stay as they are.
func TestLentBytesStayUntilTheirReturn(t *testing.T) {
	type lent struct {
		p, want []byte
		loan    Loan
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var q Blocks
		var want []byte
		var loans []lent
		next := byte(0)
		for range 300 {
			switch r.IntN(6) {
			case 0, 1:
				p := make([]byte, 1+r.IntN(1<<r.IntN(18)))
				for i := range p {
					next++
					p[i] = next
				}
				q.Append(p)
				want = append(want, p...)
			case 2:
				if q.Bytes == 0 {
					continue
				}
				n, take := 1+r.IntN(q.Bytes), r.IntN(2) == 0
				if r.IntN(4) == 0 {
					n = -1
				}
				p, loan := q.Lend(n, take)
				require.True(t, n == len(p) || n < 0 && len(p) > 0)
				require.True(t, bytes.Equal(want[:len(p)], p))
				loans = append(loans, lent{p, bytes.Clone(p), loan})
				if take {
					want = want[len(p):]
				}
			case 3:
				if i := len(loans) - 1; i >= 0 {
					i = r.IntN(i + 1)
					require.True(t, bytes.Equal(loans[i].want, loans[i].p))
					q.Return(loans[i].loan)
					loans = append(loans[:i], loans[i+1:]...)
				}
			case 4:
				p := make([]byte, r.IntN(1<<r.IntN(18)))
				n := q.Read(p)
				require.True(t, bytes.Equal(want[:n], p[:n]))
				want = want[n:]
			case 5:
				if b := q.Take(); b != nil {
					got := b.Data[b.From:]
					require.True(t, bytes.Equal(want[:len(got)], got))
					want = want[len(got):]
					b.Put()
				}
			}
			require.Equal(t, len(want), q.Bytes)
		}
		q.Clear()
		scribble()
		for _, l := range loans {
			require.True(t, bytes.Equal(l.want, l.p))
			q.Return(l.loan)
		}
	}
}

// scribble overwrites blocks of the pools.
func scribble() {
	var all []*Block
	for range 100 {
		for _, n := range []int{Small, Large} {
			b := GetBlock(n)
			clear(b.Data[:cap(b.Data)])
			all = append(all, b)
		}
	}
	for _, b := range all {
		b.Put()
	}
}

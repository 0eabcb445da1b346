package faults

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func course(p *Plan, call Call, calls, n int) (course []int) {
	for range calls {
		m, errno := p.Next(call, n)
		course = append(course, m-int(errno)*1000)
	}
	return course
}

func TestTheSameSeedHasTheSameFaultsHoweverTheKindsInterleave(t *testing.T) {
	rules := []Rule{{Call: Send, Errno: syscall.EINTR, Odds: 0.2}, {Call: Send, Odds: 0.5}, {Call: Recv, Odds: 0.5}}
	want := course(New(7, rules...), Send, 1000, 100)
	p := New(7, rules...)
	var got []int
	for range 1000 {
		course(p, Recv, 3, 100)
		got = append(got, course(p, Send, 1, 100)...)
	}
	require.Equal(t, want, got)
	require.NotEqual(t, want, course(New(8, rules...), Send, 1000, 100))
}

func TestRulesStrikeInTheirMeasure(t *testing.T) {
	p := New(1, Rule{Call: Accept, Errno: syscall.EMFILE, Every: 3, Most: 2}, Rule{Call: Send, Odds: 0.25})
	require.Equal(t, []int{1, 1, -24000, 1, 1, -24000, 1, 1, 1}, course(p, Accept, 9, 1))
	short := 0
	for _, n := range course(p, Send, 10_000, 10) {
		require.GreaterOrEqual(t, n, 1, "at least one byte is asked for")
		require.LessOrEqual(t, n, 10)
		if n < 10 {
			short++
		}
	}
	require.InDelta(t, 2500, short, 250)
	require.Equal(t, 2, p.Injected(Accept, syscall.EMFILE))
	require.Equal(t, short, p.Injected(Send, 0))
	require.Equal(t, short+2, p.Total())
	require.Equal(t, []int{1, 1, 1}, course(p, Send, 3, 1), "one byte cannot be less")
	require.Contains(t, p.String(), "seed 1: [accept: too many open files, 2 times in 9 calls]")
	p.Stop()
	require.Equal(t, []int{10, 10, 10, 10}, course(p, Send, 4, 10))
}

func TestTheFirstRuleThatAppliesCounts(t *testing.T) {
	p := New(1, Rule{Call: Recv, Errno: syscall.EINTR, Every: 2}, Rule{Call: Recv, Errno: syscall.EAGAIN, Every: 1})
	require.Equal(t, []int{-11000, -4000, -11000, -4000}, course(p, Recv, 4, 9))
}

func TestEveryCallHasAName(t *testing.T) {
	for c := range calls {
		require.NotEmpty(t, c.String())
		require.False(t, strings.HasPrefix(c.String(), "call("))
	}
	require.Equal(t, "call(200)", Call(200).String())
}

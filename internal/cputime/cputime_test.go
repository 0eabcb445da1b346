package cputime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseSchedstat(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10500 2000000 7\n": 2 * time.Millisecond, "0 0 0\n": 0, "1 2 3 4": 2,
	} {
		got, ok := parseSchedstat(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "\n", "1 2\n", "1 x 3\n", "1 -2 3\n", "1 99999999999999999999 3\n"} {
		_, ok := parseSchedstat(text)
		require.False(t, ok, text)
	}
}

func TestParseStatus(t *testing.T) {
	const text = "Name:\tb: voluntary_ctxt_switches:\t9\nUmask:\t0022\nState:\tR (running)\nTgid:\t1\n" +
		"voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t34\n"
	runnable, sleeps, ok := parseStatus(text)
	require.True(t, ok)
	require.True(t, runnable)
	require.EqualValues(t, 12, sleeps)
	runnable, _, ok = parseStatus("State:\tS (sleeping)\nvoluntary_ctxt_switches:\t1\n")
	require.True(t, ok)
	require.False(t, runnable)
	for _, text := range []string{"", "State:\tR\n", "voluntary_ctxt_switches:\t1\n", "State:\tR\nvoluntary_ctxt_switches:\tx\n"} {
		_, _, ok := parseStatus(text)
		require.False(t, ok, text)
	}
}

func TestWaited(t *testing.T) {
	const ms = time.Millisecond
	began := time.Now()
	at := func(after, ran, queued time.Duration, sleeps uint64, runnable bool) Reading {
		return Reading{began.Add(after), ran, queued, sleeps, runnable}
	}
	from := at(0, 5*ms, 7*ms, 3, true)
	asleep := from
	asleep.Runnable = false
	for name, c := range map[string]struct {
		from, to Reading
		want     time.Duration
	}{
		"it ran":                         {from, at(10*ms, 15*ms, 7*ms, 3, true), 0},
		"it waits, which no count shows": {from, at(10*ms, 5*ms, 7*ms, 3, true), 10 * ms},
		"it ran, waited, and waits":      {from, at(10*ms, 8*ms, 9*ms, 3, true), 7 * ms},
		"it sleeps":                      {from, at(10*ms, 5*ms, 7*ms, 4, false), 0},
		"it slept, waited and runs":      {from, at(10*ms, 6*ms, 9*ms, 4, true), 2 * ms},
		"it slept before and since":      {asleep, at(10*ms, 5*ms, 7*ms, 3, false), 0},
		"it slept before, and runs":      {asleep, at(10*ms, 6*ms, 8*ms, 3, true), ms},
		"the clocks were read apart":     {from, at(10*ms, 16*ms, 7*ms, 3, true), 0},
		"it slept, and no more is known": {
			at(0, 5*ms, -1, 3, true), at(10*ms, 6*ms, 9*ms, 4, true), 0,
		},
		"more than there was time for": {from, at(10*ms, 9*ms, 70*ms, 4, true), 6 * ms},
	} {
		require.Equal(t, c.want, Waited(c.from, c.to), name)
	}
}

package receive

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	quick   = Policy{Bulk: Task, Much: 100, Runs: 2, Enough: 50, Reads: 2, First: 1000, Most: 2000}
	patient = Policy{Bulk: Pipe, Much: 100, Runs: 4, Enough: 50, Reads: 8, Vain: true, First: 1000, Most: 1000}
	never   = Policy{Much: 100, Runs: 2, Enough: 50, Reads: 2, First: 1000, Most: 2000}
)

// An event is what a connection reports. Its own policy begins as soon as it may.
type event func(p *Policy, s State) State

func ran(came int) event {
	return func(p *Policy, s State) State {
		s, ripe := p.Ran(s, came)
		if ripe {
			return Begin()
		}
		return s
	}
}

// refused is ran on a connection whose task may not receive.
func refused(came int) event {
	return func(p *Policy, s State) State {
		s, _ = p.Ran(s, came)
		return s
	}
}

func readOf(n, room int) event { return func(p *Policy, s State) State { return p.Read(s, n, room) } }

func inVain(p *Policy, s State) State { return p.InVain(s) }

func times(n int, e event) event {
	return func(p *Policy, s State) State {
		for range n {
			s = e(p, s)
		}
		return s
	}
}

func TestWhoReceives(t *testing.T) {
	for name, c := range map[string]struct {
		policy *Policy
		events []event
		want   Receiver
	}{
		"nothing has arrived":                   {&quick, nil, Reactor},
		"one run with much":                     {&quick, []event{ran(100)}, Reactor},
		"two runs with much":                    {&quick, []event{ran(100), ran(100)}, Task},
		"much is the bound, not a byte less":    {&quick, []event{times(9, ran(99))}, Reactor},
		"a run with little between":             {&quick, []event{ran(100), ran(1), ran(100)}, Reactor},
		"a run without bytes between":           {&quick, []event{ran(100), ran(0), ran(100)}, Task},
		"it never may":                          {&quick, []event{times(9, refused(100))}, Reactor},
		"it may at last":                        {&quick, []event{times(9, refused(100)), ran(100)}, Task},
		"it might have, before a little":        {&quick, []event{times(9, refused(100)), ran(1), ran(100)}, Reactor},
		"a policy for reactors alone":           {&never, []event{times(9, ran(1<<30))}, Reactor},
		"into a pipe":                           {&patient, []event{times(4, ran(100))}, Pipe},
		"too few runs for a pipe":               {&patient, []event{times(3, ran(100))}, Reactor},
		"little takes one run back, not all":    {&patient, []event{times(3, ran(100)), ran(1), times(2, ran(100))}, Pipe},
		"one read with little":                  {&quick, []event{times(2, ran(100)), readOf(49, 1000)}, Task},
		"two reads with little":                 {&quick, []event{times(2, ran(100)), times(2, readOf(49, 1000))}, Reactor},
		"reads of just enough":                  {&quick, []event{times(2, ran(100)), times(9, readOf(50, 1000))}, Task},
		"reads with little and much by turns":   {&quick, []event{times(2, ran(100)), times(9, func(p *Policy, s State) State { return p.Read(p.Read(s, 1, 1000), 50, 1000) })}, Task},
		"the reactor's last bytes do not count": {&quick, []event{times(2, ran(100)), times(9, ran(1))}, Task},
		"after reads with little it all begins": {&quick, []event{times(2, ran(100)), times(2, readOf(1, 1000)), ran(100)}, Reactor},
		"nothing found does not count":          {&quick, []event{times(2, ran(100)), times(99, inVain)}, Task},
		"nothing found does count":              {&patient, []event{times(4, ran(100)), times(8, inVain)}, Reactor},
		"nothing found, not too often":          {&patient, []event{times(4, ran(100)), times(7, inVain)}, Pipe},
		"nothing found, then enough, by turns":  {&patient, []event{times(4, ran(100)), times(7, inVain), readOf(50, 1000), times(7, inVain)}, Pipe},
		"a read while the reactor receives":     {&quick, []event{readOf(1000, 1000), inVain, ran(100)}, Reactor},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			for _, e := range c.events {
				s = e(c.policy, s)
			}
			require.Equal(t, c.want, c.policy.Receiver(s))
		})
	}
}

func TestSizesOfReads(t *testing.T) {
	for name, c := range map[string]struct {
		events []event
		want   int
	}{
		"the first":                   {nil, 1000},
		"after one with room left":    {[]event{readOf(999, 1000)}, 1000},
		"after one without":           {[]event{readOf(1000, 1000)}, 2000},
		"it stays large":              {[]event{readOf(1000, 1000), times(9, readOf(999, 2000)), readOf(1, 2000)}, 2000},
		"the reactor has had a turn":  {[]event{readOf(1000, 1000), times(2, readOf(1, 2000)), times(2, ran(100))}, 1000},
		"little that filled its room": {[]event{readOf(10, 10)}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			s := Begin()
			for _, e := range c.events {
				s = e(&quick, s)
			}
			require.Equal(t, Task, quick.Receiver(s))
			require.Equal(t, c.want, quick.Size(s))
		})
	}
}

// The largest counts fit, from whatever state: connections keep other things beside a State.
func TestAStateNeedsNoMoreThanItsBits(t *testing.T) {
	p := Policy{Bulk: Task, Much: 100, Runs: MaxCount, Enough: 50, Reads: MaxCount, Vain: true, First: 1, Most: 1}
	for s := range State(1 << StateBits) {
		for _, e := range []event{ran(0), ran(1), ran(100), refused(100), readOf(1, 100), readOf(100, 100), inVain} {
			require.Less(t, e(&p, s), State(1<<StateBits), "from state %b", s)
		}
	}
	s := Begin()
	for range MaxCount - 1 {
		s = p.Read(s, 1, 100)
		require.Equal(t, Task, p.Receiver(s))
	}
	require.Equal(t, Reactor, p.Receiver(p.Read(s, 1, 100)))
}

func TestAStateSaysHowItIs(t *testing.T) {
	s := quick.Read(Begin(), 1000, 1000)
	require.Equal(t, "task 0 full", s.String())
	require.Equal(t, "task 1 full", quick.Read(s, 1, 1000).String())
	s, _ = quick.Ran(0, 100)
	require.Equal(t, "1", s.String())
}

package mpsc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/mpsc"
)

type (
	node    = mpsc.Node[int]
	mailbox = mpsc.Mailbox[int]
)

func newMailbox(limit int32) *mailbox {
	m := new(mailbox)
	m.Init(new(node), limit)
	return m
}

func values(n *node) (all []int) {
	for ; n != nil; n = n.Next {
		all = append(all, n.Value)
	}
	return all
}

func TestATakeReturnsAllMessagesInReverse(t *testing.T) {
	m := newMailbox(0)
	for i := range 3 {
		accepted, first := m.Put(&node{Value: i})
		require.True(t, accepted)
		require.Equal(t, i == 0, first, "only the first sender wakes the consumer")
	}
	require.Equal(t, []int{2, 1, 0}, values(m.Take()))
	require.True(t, m.Empty())
	require.Nil(t, m.Take())
}

func TestAClosedMailboxRefusesMessages(t *testing.T) {
	m := newMailbox(0)
	m.Put(&node{Value: 1})
	require.Equal(t, []int{1}, values(m.Close()))
	accepted, first := m.Put(&node{Value: 2})
	require.False(t, accepted || first)
	require.Nil(t, m.Close())
	require.Nil(t, m.Take())
}

func TestALimitCountsUntilMessagesAreFreed(t *testing.T) {
	m := newMailbox(2)
	require.True(t, m.Reserve())
	require.True(t, m.Reserve())
	require.False(t, m.Reserve())
	require.Equal(t, 2, m.Len())
	m.Put(new(node))
	m.Take()
	require.False(t, m.Reserve(), "taken is not yet freed")
	m.Free(1)
	require.True(t, m.Reserve())
	require.False(t, m.Reserve())
}

// Every change of the diagram in State's comment.
func TestEachChangeOfTheState(t *testing.T) {
	const ready, running, blocked, idle, complete = mpsc.Ready, mpsc.Running, mpsc.Blocked, mpsc.Idle, mpsc.Complete
	for _, c := range []struct {
		name  string
		first mpsc.Phase // the phase that the process settles in before the events
		kinds []mpsc.Kind
		wakes bool
		phase mpsc.Phase
	}{
		{"a message wakes an idle process", idle, []mpsc.Kind{mpsc.Message}, true, ready},
		{"an answer wakes an idle process", idle, []mpsc.Kind{mpsc.Answer}, true, ready},
		{"a message does not wake a blocked process", blocked, []mpsc.Kind{mpsc.Message}, false, blocked},
		{"an answer wakes a blocked process", blocked, []mpsc.Kind{mpsc.Message, mpsc.Answer}, true, ready},
		{"a ready process is awake", ready, []mpsc.Kind{mpsc.Message, mpsc.Answer}, false, ready},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s mpsc.State
			require.Equal(t, ready, s.Phase())
			s.Begin()
			require.Equal(t, running, s.Phase())
			require.Equal(t, c.first == ready, s.Settle(c.first))
			var wakes bool
			for _, n := range c.kinds {
				wakes = s.Notify(n)
			}
			require.Equal(t, c.wakes, wakes)
			require.Equal(t, c.phase, s.Phase())
			s.Begin()
			require.Equal(t, running, s.Phase())
			s.Finish()
			require.Equal(t, complete, s.Phase())
			require.False(t, s.Notify(mpsc.Answer), "nobody wakes a complete process")
		})
	}
}

// Events that arrive while the process runs set the wake-up flag, and decide where it settles.
func TestEventsWhileAProcessRuns(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  mpsc.Kind
		to    mpsc.Phase
		again bool
	}{
		{"a message, then idle", mpsc.Message, mpsc.Idle, true},
		{"a message, then blocked", mpsc.Message, mpsc.Blocked, false},
		{"an answer, then idle", mpsc.Answer, mpsc.Idle, true},
		{"an answer, then blocked", mpsc.Answer, mpsc.Blocked, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s mpsc.State
			s.Begin()
			require.False(t, s.Notify(c.kind), "the worker sees the flag")
			require.False(t, s.Notify(c.kind))
			require.Equal(t, mpsc.Running, s.Phase())
			require.Equal(t, c.again, s.Settle(c.to))
			s.Begin()
			require.False(t, s.Settle(c.to), "the flag has gone")
		})
	}
}

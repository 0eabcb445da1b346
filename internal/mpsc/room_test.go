package mpsc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/mpsc"
)

// called calls all senders, and lists them.
func called(m *mailbox, r *mpsc.Room) (all []any) {
	for s := m.Call(r); s != nil; s = m.Call(r) {
		all = append(all, s.Owner)
	}
	return all
}

func TestSendersAreCalledInTheirOrder(t *testing.T) {
	m, r := newMailbox(1), new(mpsc.Room)
	require.Nil(t, m.Call(r))
	var seats [4]mpsc.Seat
	for i := range seats {
		seats[i].Owner = i
		m.Sit(r, &seats[i])
		m.Sit(r, &seats[i]) // it sits
		require.True(t, m.Waiting())
	}
	require.Nil(t, m.Leave(r, &seats[2]), "it was not called")
	require.Equal(t, &seats[0], m.Call(r))
	m.Sit(r, &seats[0]) // it was overtaken
	m.Sit(r, &seats[2])
	require.Equal(t, []any{0, 1, 3, 2}, called(m, r))
	require.False(t, m.Waiting())
}

func TestASenderThatLeavesCallsTheNextOneIfThereIsRoom(t *testing.T) {
	m, r := newMailbox(1), new(mpsc.Room)
	var seats [3]mpsc.Seat
	for i := range seats {
		m.Sit(r, &seats[i])
	}
	require.Equal(t, &seats[0], m.Call(r))
	require.Equal(t, &seats[1], m.Leave(r, &seats[0]))
	require.Nil(t, m.Leave(r, &seats[0]), "it has left")
	require.True(t, m.Reserve())
	require.Nil(t, m.Leave(r, &seats[1]), "the mailbox is full")
	require.True(t, m.Waiting())
	require.Nil(t, m.Leave(r, &seats[2]))
	require.False(t, m.Waiting())
}

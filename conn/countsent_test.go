package conn

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/sched"
)

// Bytes that the reactor refuses are not counted as sent.
func TestARefusedSendIsNotCounted(t *testing.T) {
	r := newScripted(t, 1, make([]byte, 64), false)
	right := &r.conns[0].Inbox.Right
	require.EqualValues(t, 64, right.Sent())
	r.refuses = true
	r.exchange(1)
	require.EqualValues(t, 64, right.Sent())
}

// A late sender is one that begins between the last look at the queue and the end of its
// connection.
type lateSender struct {
	Base
	result chan [3]bool
}

func (h *lateSender) OnData(u *Conn) error {
	c := &u.core
	_, err := c.Discard(-1)
	return err
}

func (h *lateSender) OnEOF(u *Conn) error {
	c := &u.core
	_ = c.Close()
	held := c.Inbox.Right.Try()
	c.Finish()
	over := c.Is(core.Broken)
	told := c.Inbox.Right.GiveUp(0, 0)
	h.result <- [3]bool{held, over, told.Task}
	c.Task.Wake()
	return nil
}

// The connection does not end while another task sends on it, as a splice does. Otherwise the send
// would be canceled, and a peer that has finished would see a reset in place of the FIN.
func TestAnEndWaitsForASendOfAnotherTask(t *testing.T) {
	g, err := NewGroup(Config{}, sched.Config{Workers: 1})
	require.NoError(t, err)
	defer g.Close()
	ln := conntest.Listen(t)
	h := &lateSender{result: make(chan [3]bool, 1)}
	l, err := g.Listen(ln, h)
	require.NoError(t, err)
	defer l.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	got := conntest.Receive(t, h.result)
	require.Equal(t, [3]bool{true, false, true}, got, "held, over, and the task runs at the end of the hold")
	_, err = c.Read(make([]byte, 1))
	require.EqualError(t, err, "EOF")
	conntest.Eventually(t, func() bool { return g.Len() == 0 })
}

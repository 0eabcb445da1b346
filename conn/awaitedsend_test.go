package conn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// answering is a handler that writes to the connection by a function for each message.
type answering struct {
	Base
	answer func(*Conn)
}

func (a answering) OnData(u *Conn) error {
	_, _ = u.core.Next(-1)
	a.answer(u)
	return nil
}

// A Poll does not return for the end of a send with NoWait, so nothing may wait for that end.
func TestASendThatSomethingWaitsForIsNotMarkedNoWait(t *testing.T) {
	for name, test := range map[string]struct {
		h      Handler
		noWait bool
	}{
		"nothing waits": {answering{answer: func(c *Conn) { _, _ = c.WriteString("a") }}, true},
		"NotifySent": {answering{answer: func(c *Conn) {
			_, _ = c.WriteString("a")
			c.NotifySent(func(error) {})
		}}, false},
		"a Stream's Write above HighWater": {Sequential(func(_ *sched.Context, s *Stream) error {
			for {
				if _, err := s.Next(1); err != nil {
					return err
				}
				for range 4 {
					if _, err := s.Write(make([]byte, 500)); err != nil {
						return err
					}
				}
			}
		}), false},
		"OnWritable": {answering{answer: func(c *Conn) { _, _ = c.Write(make([]byte, 2000)) }}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newScriptedFor(t, Config{HighWater: 1000, LowWater: 10}, test.h, 1, []byte("x"), true)
			r.noWait = make([]bool, 0, 1)
			r.exchange(1)
			r.exchange(0)
			require.NotEmpty(t, r.noWait)
			require.Equal(t, test.noWait, r.noWait[0])
		})
	}
}

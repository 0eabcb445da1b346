package load

import (
	"fmt"
	"time"
)

// greet exchanges one message on each connection. So the server and its upstream have accepted all
// of them before the clock of an open loop starts.
func (s *stream) greet() error {
	for i := range s.clients {
		s.pace = newPace(Config{})
		s.allow(&s.clients[i])
		if s.greeted = i; s.origin != nil { // one by one: then it is known whose messages come to which of its ends
			s.stop()
			if err := s.await(&s.clients[i]); err != nil {
				return err
			}
		}
	}
	if err := drain(s); err != nil {
		return err
	}
	for i := range s.clients {
		c := &s.clients[i]
		c.allowed, c.sent, c.answered = 0, 0, 0
	}
	s.messages, s.slowly = 0, 0
	return nil
}

// await waits for all that the client has asked for.
func (s *stream) await(c *client) error {
	if err := s.send(c); err != nil { // if it knows that it can: else the poller has an edge for it
		return err
	}
	for began := time.Now(); c.answered < c.allowed; {
		if err := s.turn(); err != nil {
			return err
		}
		if time.Since(began) > stall {
			return fmt.Errorf("load: connection %d: nothing came back for %v", c.first, stall)
		}
	}
	return nil
}

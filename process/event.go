package process

import "github.com/suiro-go/suiro/internal/mpsc"

// An Event is what a process receives.
type Event struct {
	Type  EventType
	Tag   uint64 // EventYield: the yield's tag; EventDown: the monitor's
	Data  any    // EventYield: the result; EventMessage: the message; EventExit, EventDown: a PID
	Error error  // EventYield: the failure; EventExit, EventDown: why the process has ended; nil: normally
}

// An EventType is the kind of an event.
type EventType uint8

const (
	// EventMessage is a message from another process or a goroutine.
	EventMessage EventType = iota
	// EventYield is the completion of a yield.
	EventYield
	// EventCancel asks the process to end. A process that does not is killed after a grace period.
	EventCancel
	// EventExit says that a linked process has ended: see Self.TrapExits.
	EventExit
	// EventDown says that a monitored process has ended.
	EventDown
)

type node = mpsc.Node[Event]

// node is an unused node. The pool has lists of them: a sender and its receiver run on different
// processors most of the time, and so exchange a list at once, instead of each node.
func (s *System) node(ev Event) *node {
	n, ok := s.nodes.Get().(*node)
	if !ok {
		n = new(node)
	} else if n.Next != nil {
		s.nodes.Put(n.Next)
		n.Next = nil
	}
	n.Value = ev
	return n
}

// free gives a node back, once nobody uses it.
func (s *System) free(n *node) {
	n.Value, n.Next = Event{}, nil
	s.nodes.Put(n)
}

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

// A node is an event in a mailbox. Its value is the message, or the signal that has this node.
type node = mpsc.Node[any]

// A signal is an event that is not a message, with its node. That value never changes.
type signal struct {
	node
	event Event
}

// signalOf is the signal that a node is part of; nil: the node has a message.
func signalOf(n *node) *signal {
	s, _ := n.Value.(*signal)
	return s
}

// eventOf is the event of a node.
func eventOf(n *node) Event {
	if s := signalOf(n); s != nil {
		return s.event
	}
	return Event{Data: n.Value}
}

// slabNodes is how many nodes are allocated at once, next to each other. With the 8 bytes that Go's
// allocator adds, they fill 1,536 bytes, one of its size classes.
const slabNodes = 63

// node is an unused node with a message. The pool has lists of nodes: a sender and its receiver run
// on different processors most of the time, and so exchange a list at once, instead of each node.
func (s *System) node(message any) *node {
	n, ok := s.nodes.Get().(*node)
	if !ok {
		slab := new([slabNodes]node)
		for i := range slabNodes - 1 {
			slab[i].Next = &slab[i+1]
		}
		n = &slab[0]
	}
	if n.Next != nil {
		s.nodes.Put(n.Next)
		n.Next = nil
	}
	n.Value = message
	return n
}

// signal is an unused signal with an event.
func (s *System) signal(ev Event) *signal {
	g, ok := s.signals.Get().(*signal)
	if !ok {
		g = new(signal)
		g.Value = g
	}
	g.event = ev
	return g
}

// free gives a node back, once nobody uses it.
func (s *System) free(n *node) {
	n.Next = nil
	if g := signalOf(n); g != nil {
		g.event = Event{}
		s.signals.Put(g)
		return
	}
	n.Value = nil
	s.nodes.Put(n)
}

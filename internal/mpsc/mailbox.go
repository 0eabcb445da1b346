package mpsc

import "github.com/suiro-go/suiro/internal/atomics"

// A Node is one message. The mailbox owns it from an accepted Put until the consumer has taken it.
type Node[T any] struct {
	Next  *Node[T] // in a mailbox and in a list of Take: the message before
	Value T
}

// A Mailbox is a stack of nodes that senders push, and that the consumer takes as a whole. Pushing
// is one compare-and-swap, and so is taking. A push onto the stack never follows a pointer, so a
// node may be used again as soon as it has been taken: the stack has no ABA problem.
//
// Only the sender that finds the stack empty has to wake the consumer. The nodes that others push
// on top are taken with the first one.
type Mailbox[T any] struct {
	top     atomics.Pointer[Node[T]] // the newest message; end: closed
	end     *Node[T]                 // a mark that is never in a stack
	count   atomics.Int32            // counted messages that are in the mailbox or in the consumer's hands
	limit   int32                    // of count; 0: none
	waiting atomics.Bool             // a sender is in the Room
}

// Init prepares a mailbox. end is a node that is in no mailbox; all mailboxes may share it. limit 0
// means none.
func (m *Mailbox[T]) Init(end *Node[T], limit int32) { m.end, m.limit = end, limit }

// Len is the number of counted messages. It is 0 if there is no limit.
func (m *Mailbox[T]) Len() int { return int(m.count.Load()) }

// Reserve takes room for one counted message. false: the mailbox is full. The caller then Puts the
// message, or calls Free.
func (m *Mailbox[T]) Reserve() bool {
	if m.limit == 0 {
		return true
	}
	for {
		n := m.count.Load()
		if n >= m.limit {
			return false
		}
		if m.count.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Free gives back the room of n counted messages.
func (m *Mailbox[T]) Free(n int) {
	if m.limit != 0 && n != 0 {
		m.count.Add(int32(-n))
	}
}

// Put adds a message. accepted: the mailbox was open. first: it was empty, so the caller must
// notify the consumer.
func (m *Mailbox[T]) Put(n *Node[T]) (accepted, first bool) {
	for {
		old := m.top.Load()
		if old == m.end {
			return false, false
		}
		n.Next = old
		if m.top.CompareAndSwap(old, n) {
			return true, old == nil
		}
	}
}

// Empty reports whether there is nothing to take.
func (m *Mailbox[T]) Empty() bool {
	top := m.top.Load()
	return top == nil || top == m.end
}

// Take takes all messages: a list from the newest to the oldest; nil: there are none. Only the
// consumer may call it.
func (m *Mailbox[T]) Take() (newest *Node[T]) {
	if m.Empty() {
		return nil
	}
	return m.top.Swap(nil) // not closed meanwhile: only the consumer closes
}

// Close refuses messages from now on, and returns those that were accepted, as Take does. Only the
// consumer may call it.
func (m *Mailbox[T]) Close() (newest *Node[T]) {
	top := m.top.Swap(m.end)
	if top == m.end {
		return nil
	}
	return top
}

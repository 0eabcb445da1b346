// Package list has an intrusive list of waiters. The list's node is a field of the waiter, so
// waiting allocates nothing.
package list

// A List holds nodes, first come first. The zero value is empty. It must not be
// copied. Its owner's lock guards it and its nodes.
type List[T any] struct {
	root Node[T] // of the ring; its next is the first; nil: nothing was ever in it
	len  int
}

// A Node is a place in a list. The zero value is in none. It must not be copied
// while it is in one.
type Node[T any] struct {
	prev, next *Node[T] // nil: in no list
	Value      T        // the owner's: the list does not touch it
}

// Listed reports whether the node is in a list.
func (n *Node[T]) Listed() bool { return n.next != nil }

// Len is the number of nodes, at no cost.
func (l *List[T]) Len() int { return l.len }

// Front is the node that has been in the list for longest; nil: there is none.
func (l *List[T]) Front() *Node[T] {
	if l.len == 0 {
		return nil
	}
	return l.root.next
}

// PushBack adds the node, which must be in no list, behind the others.
func (l *List[T]) PushBack(n *Node[T]) {
	if n.Listed() {
		panic("list: a node that is in a list already")
	}
	l.init()
	n.prev, n.next = l.root.prev, &l.root
	n.prev.next, n.next.prev = n, n
	l.len++
}

// PushBackList moves all nodes of another list behind those of this one, at no cost.
func (l *List[T]) PushBackList(other *List[T]) {
	if other.len == 0 {
		return
	}
	l.init()
	first, last := other.root.next, other.root.prev
	l.root.prev.next, first.prev = first, l.root.prev
	last.next, l.root.prev = &l.root, last
	l.len += other.len
	other.root.prev, other.root.next, other.len = &other.root, &other.root, 0
}

func (l *List[T]) init() {
	if l.root.next == nil {
		l.root.prev, l.root.next = &l.root, &l.root
	}
}

// Remove takes the node, which is in this list or in none, out, and reports whether
// it was in it.
func (l *List[T]) Remove(n *Node[T]) bool {
	if !n.Listed() {
		return false
	}
	n.prev.next, n.next.prev = n.next, n.prev
	n.prev, n.next = nil, nil
	l.len--
	return true
}

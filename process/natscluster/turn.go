package natscluster

import "context"

// A turn is the right to change the key of a name. One call has it at a time.
type turn struct {
	free  chan struct{} // has a value if no call has the turn
	users int           // calls that have the turn, or wait for it
}

// takeTurn waits for the turn of a name.
func (n *names) takeTurn(ctx context.Context, name string) error {
	n.mu.Lock()
	t := n.turns[name]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		n.turns[name] = t
	}
	t.users++
	n.mu.Unlock()
	select {
	case <-t.free:
		return nil
	case <-ctx.Done():
		n.leaveTurn(name)
		return ctx.Err()
	}
}

// tryTurn takes the turn of a name if no call has it or waits for it.
func (n *names) tryTurn(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.turns[name] != nil {
		return false
	}
	n.turns[name] = &turn{free: make(chan struct{}, 1), users: 1}
	return true
}

// endTurn is freeTurn for a call that maintainNames has perhaps passed over: it looks again.
func (n *names) endTurn(name string) {
	n.freeTurn(name)
	n.mu.Lock()
	own := n.own[name]
	_, stray := n.strays[name]
	remove := stray || own != nil && own.ended
	n.mu.Unlock()
	if remove {
		n.signal()
	}
}

// freeTurn ends the turn of a name.
func (n *names) freeTurn(name string) {
	n.mu.Lock()
	n.turns[name].free <- struct{}{}
	n.mu.Unlock()
	n.leaveTurn(name)
}

// leaveTurn is called when a call neither has the turn of a name nor waits for it.
func (n *names) leaveTurn(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.turns[name]
	if t.users--; t.users == 0 {
		delete(n.turns, name)
	}
}

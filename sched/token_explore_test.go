//go:build explore

package sched

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// isOver reports whether the token is canceled and its waiters have been woken: Done is closed.
func (t *CancellationToken) isOver() bool {
	select {
	case <-t.done:
		return t.canceled.Load()
	default:
		return false
	}
}

// Two callers cancel, one of them a descendant. When a Cancel returns, its token and that token's
// descendants are over, also those that the other caller has canceled. Neither caller waits for the
// other for good.
func TestExploreACancelAgainstTheCancelOfADescendant(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2, Plain: true}, func(x *explorer.Execution) {
		root := NewCancellationToken()
		child := root.Child()
		grandchild := child.Child()
		all := []*CancellationToken{root, child, grandchild}
		for _, token := range all {
			token.Done()
		}
		for i, name := range []string{"cancels the root", "cancels the child"} {
			x.Go(name, func() {
				all[i].Cancel()
				for _, token := range all[i:] {
					x.Require(token.isOver(), "Cancel has returned, and a token is not over")
				}
			})
		}
	})
}

// Two callers cancel the same token. Both return when its child is over.
func TestExploreTwoCancelsOfAToken(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 3, Plain: true}, func(x *explorer.Execution) {
		root := NewCancellationToken()
		child := root.Child()
		root.Done()
		child.Done()
		for _, name := range []string{"cancels", "cancels, too"} {
			x.Go(name, func() {
				root.Cancel()
				x.Require(root.isOver() && child.isOver(), "Cancel has returned, and a token is not over")
			})
		}
	})
}

// The context of a token has an error only if its Done is closed.
func TestExploreTheErrorOfATokensContext(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 3, Plain: true}, func(x *explorer.Execution) {
		root := NewCancellationToken()
		child := root.Child()
		child.Done()
		x.Go("cancels", root.Cancel)
		x.Go("reads", func() {
			x.Require(child.Context().Err() == nil || child.isOver(), "there is an error, and Done is open")
		})
	})
}

//go:build !explore

package chanx_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
)

// Senders are in the middle of a send when the last receiver is closed. Their values stay in no
// channel that somebody still has a handle of.
func TestCloseOfAReceiverLeavesNoValueThatIsBeingSent(t *testing.T) {
	const senders = 2
	for range rounds(100) {
		btx, brx := chanx.NewBounded[*int](64)
		utx, urx := chanx.NewUnbounded[*int]()
		var ended sync.WaitGroup
		for range senders {
			ended.Go(func() {
				for utx.Send(context.Background(), new(int)) == nil {
				}
			})
			ended.Go(func() {
				for btx.TrySend(new(int)) != chanx.ErrClosed {
				}
			})
		}
		_, err := urx.Recv(t.Context())
		require.NoError(t, err)
		_, err = brx.Recv(t.Context())
		require.NoError(t, err)
		urx.Close()
		require.Zero(t, urx.Len())
		brx.Close()
		ended.Wait()
		require.Zero(t, brx.Len())
	}
}

// The last sender and the receiver close at the same time.
func TestCloseOfBothSidesLeavesNoValue(t *testing.T) {
	for range rounds(4000) {
		tx, rx := chanx.NewUnbounded[int]()
		other := tx.Clone()
		var ended sync.WaitGroup
		ended.Go(func() { _ = other.Send(context.Background(), 1); other.Close() })
		ended.Go(func() { _ = tx.Send(context.Background(), 2); tx.Close() })
		rx.Close()
		require.Zero(t, rx.Len())
		ended.Wait()
		require.Zero(t, rx.Len())
	}
}

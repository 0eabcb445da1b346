//go:build !explore

package chanx_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
)

// For one goroutine, a bounded channel behaves as a slice, in any sequence of operations.
func TestABoundedChannelIsASliceWithRoomThatIsCounted(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	capacities := []int{1, 2, 3, 5, 8, 13}
	for _, capacity := range capacities {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			compare(t, rand.New(rand.NewPCG(seed, uint64(capacity))), capacity, rounds(1_000_000)/len(capacities)+1)
		})
	}
}

func compare(t *testing.T, random *rand.Rand, capacity, operations int) {
	tx, rx := chanx.NewBounded[int](capacity)
	var model []int
	var permits []chanx.Permit[int]
	stopped := false
	buf := make([]int, capacity+1)
	check := func(what string, got, want error) {
		if got != want {
			t.Fatalf("%s with %v, %d permits, stopped: %v: %v, not %v", what, model, len(permits), stopped, got, want)
		}
	}
	room := func() error {
		switch {
		case stopped:
			return chanx.ErrClosed
		case len(model)+len(permits) == capacity:
			return chanx.ErrFull
		default:
			return nil
		}
	}
	none := func() error {
		switch {
		case len(model) > 0:
			return nil
		case stopped && len(permits) == 0:
			return chanx.ErrClosed
		default:
			return chanx.ErrEmpty
		}
	}
	up := random.IntN(2) == 0 // whether it fills or drains
	for i := range operations {
		if random.IntN(20) == 0 {
			up = !up
		}
		op := random.IntN(10)
		switch {
		case op < 4 && up:
			want := room()
			check("TrySend", tx.TrySend(i), want)
			if want == nil {
				model = append(model, i)
			}
		case op < 4:
			want := none()
			v, err := rx.TryRecv()
			check("TryRecv", err, want)
			if want == nil {
				require.Equal(t, model[0], v)
				model = model[1:]
			}
		case op == 4 && up && len(model) > 0:
			n, err := rx.RecvMany(t.Context(), buf[:1+random.IntN(len(buf))])
			check("RecvMany", err, nil)
			require.Equal(t, model[:n], buf[:n])
			model = model[n:]
		case op == 5:
			want := room()
			p, err := tx.TryReserve()
			check("TryReserve", err, want)
			if want == nil {
				permits = append(permits, p)
			}
		case op <= 7 && len(permits) > 0:
			last := len(permits) - 1
			p := permits[last]
			permits = permits[:last]
			if up {
				check("Permit.Send", p.Send(context.Background(), i), nil)
				model = append(model, i)
			} else {
				p.Release()
			}
		case op == 8 && random.IntN(1000) == 0:
			rx.Stop()
			stopped = true
		case op == 9 && stopped && none() == chanx.ErrClosed: // start again
			tx.Close()
			rx.Close()
			tx, rx = chanx.NewBounded[int](capacity)
			stopped = false
		}
		if rx.Len() != len(model) {
			t.Fatalf("Len is %d, not %d", rx.Len(), len(model))
		}
	}
}

//go:build unix

package ready

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// An edge comes after a call has tried, and before it waits. No other edge follows. So the call
// must try again.
func TestAnEdgeBetweenATryAndItsWaitIsNotLost(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	require.NoError(t, rt.Start())
	defer func() { require.NoError(t, rt.Close()) }()
	for d, edge := range edges {
		s := &Socket{watched: true, room: true}
		var w Wait
		tried := false
		waits := sched.Spawn(rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (none struct{}, err error) {
			if err = s.Resume(cx, &w); err != nil || tried {
				return none, err
			}
			tried = true
			if _, err = s.Enter(Direction(d), &w.Attempt); err != nil {
				return none, err
			}
			s.Leave()
			(*target)(s).Deliver(&engine.Driver{}, &reactor.Completion{Res: int(edge), More: true})
			return none, s.Await(cx, Direction(d), &w)
		}))
		ctx, cancel := context.WithTimeout(t.Context(), patience.Limit)
		defer cancel()
		_, err := waits.Wait(ctx)
		require.NoError(t, err)
	}
}

package process_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

func TestAPendingReceiveTakesNothingFromTheBudget(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		budgets := make(chan int, 1)
		spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			_, err := self.ReceiveFuture().Poll(cx)
			require.Equal(t, sched.ErrPending, err)
			left := 0
			for cx.Proceed() {
				left++
			}
			budgets <- left
			return nil
		})
		require.Equal(t, 128, receive(t, "a process has polled", budgets))
	})
}

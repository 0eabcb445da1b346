//go:build !explore

package chanx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

func upTo(from, to int) (vs []int) {
	for v := from; v < to; v++ {
		vs = append(vs, v)
	}
	return vs
}

func TestSendManySendsInOrderWhateverTheCapacity(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		for _, capacity := range []int{1, 2, 3, 7, 100} {
			const senders = 3
			batches := rounds(500)
			tx, rx := chanx.NewBounded[[2]int](capacity)
			var jobs []*job
			for i := range senders {
				mine := tx.Clone()
				jobs = append(jobs, c.do(func(ctx context.Context) error {
					defer mine.Close()
					for b, n := 0, 0; b < batches; b++ {
						batch := make([][2]int, b%9)
						for j := range batch {
							batch[j] = [2]int{i, n}
							n++
						}
						if sent, err := mine.SendMany(ctx, batch); err != nil || sent != len(batch) {
							return fmt.Errorf("%d of %d: %w", sent, len(batch), err)
						}
					}
					return nil
				}))
			}
			tx.Close()
			jobs = append(jobs, c.do(func(ctx context.Context) error {
				next := make([]int, senders)
				buf := make([][2]int, 5)
				for {
					n, err := rx.RecvMany(ctx, buf)
					if err == chanx.ErrClosed {
						break
					} else if err != nil {
						return err
					}
					for _, v := range buf[:n] {
						if next[v[0]] != v[1] {
							return fmt.Errorf("%d of sender %d, not %d", v[1], v[0], next[v[0]])
						}
						next[v[0]]++
					}
				}
				want := 0
				for b := range batches {
					want += b % 9
				}
				for i, n := range next {
					if n != want {
						return fmt.Errorf("%d values of sender %d, not %d", n, i, want)
					}
				}
				return nil
			}))
			allDone(t, jobs)
		}
	})
}

func TestTrySendManySendsWhatThereIsRoomFor(t *testing.T) {
	tx, rx := chanx.NewBounded[int](5)
	p, err := tx.TryReserve()
	require.NoError(t, err)
	n, err := tx.TrySendMany(nil)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = tx.TrySendMany(upTo(0, 3))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	n, err = tx.TrySendMany(upTo(3, 6))
	require.Equal(t, chanx.ErrFull, err)
	require.Equal(t, 1, n, "the permit keeps its room")
	n, err = tx.TrySendMany(upTo(4, 6))
	require.Equal(t, chanx.ErrFull, err)
	require.Zero(t, n)
	require.NoError(t, p.Send(context.Background(), 4))
	for want := range 5 {
		v, err := rx.TryRecv()
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	rx.Close()
	for _, vs := range [][]int{nil, {1}} {
		n, err = tx.TrySendMany(vs)
		require.Equal(t, chanx.ErrClosed, err)
		require.Zero(t, n)
	}
}

func TestSendManyThatIsCanceledSaysHowManyWereSentAndKeepsTheRest(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](3)
		sent := 0
		doomed := c.do(func(ctx context.Context) (err error) { sent, err = tx.SendMany(ctx, upTo(0, 9)); return err })
		eventually(t, "it waits", func() bool { return tx.Waiting() == 1 })
		v, err := receives(c, rx)
		require.NoError(t, err)
		require.Zero(t, v)
		eventually(t, "it has sent one more and waits again", func() bool { return tx.Waiting() == 1 && tx.Len() == 3 })
		other := c.do(func(ctx context.Context) error { return tx.Send(ctx, 100) })
		eventually(t, "another waits behind", func() bool { return tx.Waiting() == 2 })
		doomed.abort()
		require.ErrorIs(t, doomed.wait(), context.Canceled)
		require.Equal(t, 4, sent)
		for _, want := range []int{1, 2, 3, 100} {
			v, err := receives(c, rx)
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
		require.NoError(t, other.wait())
		n, err := tx.TrySendMany(upTo(0, 4))
		require.Equal(t, chanx.ErrFull, err)
		require.Equal(t, 3, n, "no room is lost")
	})
}

func TestSendManyThatIsCanceledWhenItsTurnHasComeGivesItToTheNext(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](1)
		lazy := tx.SendManyFuture(upTo(0, 3))
		c.run(func(ctx context.Context) {
			n, err := sched.Await(ctx, once[int](lazy))
			require.Equal(t, errNotYet, err)
			require.Equal(t, 1, n)
		})
		require.Panics(t, func() { lazy.Reset(nil) }, "it waits")
		next := c.do(func(ctx context.Context) error { return tx.Send(ctx, 10) })
		eventually(t, "it waits behind", func() bool { return tx.Waiting() == 2 })
		v, err := rx.TryRecv()
		require.NoError(t, err)
		require.Zero(t, v)
		require.Equal(t, chanx.ErrFull, tx.TrySend(11), "it has the turn")
		lazy.Cancel()
		require.NoError(t, next.wait())
		require.Equal(t, 1, lazy.Sent())
		v, err = rx.TryRecv()
		require.NoError(t, err)
		require.Equal(t, 10, v)
		lazy.Reset(upTo(20, 21))
		c.run(func(ctx context.Context) {
			n, err := sched.Await(ctx, sched.Future[int](lazy))
			require.NoError(t, err)
			require.Equal(t, 1, n)
		})
	})
}

func TestSendManyThatFindsTheChannelClosedSaysHowManyWereSent(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](3)
		sent := 0
		waits := c.do(func(ctx context.Context) (err error) { sent, err = tx.SendMany(ctx, upTo(0, 9)); return err })
		eventually(t, "it waits", func() bool { return tx.Waiting() == 1 })
		rx.Stop()
		require.Equal(t, chanx.ErrClosed, waits.wait())
		require.Equal(t, 3, sent)
		for want := range 3 {
			v, err := rx.TryRecv()
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
		for _, vs := range [][]int{nil, {1}} {
			c.run(func(ctx context.Context) {
				n, err := tx.SendMany(ctx, vs)
				require.Equal(t, chanx.ErrClosed, err)
				require.Zero(t, n)
			})
		}
		tx.Close()
		c.run(func(ctx context.Context) {
			_, err := tx.SendMany(ctx, upTo(0, 1))
			require.Equal(t, chanx.ErrClosed, err)
		})
	})
}

func TestSendManyDoesNotOvertakeThoseThatWait(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](2)
		require.NoError(t, tx.TrySend(0))
		require.NoError(t, tx.TrySend(1))
		first := c.do(func(ctx context.Context) error { return tx.Send(ctx, 2) })
		eventually(t, "it waits", func() bool { return tx.Waiting() == 1 })
		n, err := tx.TrySendMany(upTo(3, 5))
		require.Equal(t, chanx.ErrFull, err)
		require.Zero(t, n)
		second := c.do(func(ctx context.Context) error { _, err := tx.SendMany(ctx, upTo(3, 6)); return err })
		eventually(t, "it waits behind", func() bool { return tx.Waiting() == 2 })
		got := make([]int, 0, 6)
		for range 6 {
			v, err := receives(c, rx)
			require.NoError(t, err)
			got = append(got, v)
		}
		require.ElementsMatch(t, upTo(0, 6), got)
		require.NoError(t, first.wait())
		require.NoError(t, second.wait())
	})
}

func TestSendManyAllocatesNothing(t *testing.T) {
	const times = 5000
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](4)
		vs := upTo(0, 6) // more than there is room for
		fewPer(t, times, func() {
			allDone(t, []*job{
				c.do(func(ctx context.Context) error {
					for range times {
						if _, err := tx.SendMany(ctx, vs); err != nil {
							return err
						}
					}
					return nil
				}),
				c.do(func(ctx context.Context) error {
					for range times * len(vs) {
						if _, err := rx.Recv(ctx); err != nil {
							return err
						}
					}
					return nil
				}),
			})
		})
	})
}

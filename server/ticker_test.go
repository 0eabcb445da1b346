package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

func TestTickersTickOnAWorkerUntilTheServerStopsWhateverTheyDo(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		ticks, slept := make(chan int, 1000), make(chan struct{}, 1000)
		n := 0
		s := run(t, &server.Server{Handler: echo{}, Backend: backend, Workers: workers, Tickers: []server.Ticker{
			{Every: time.Millisecond, Do: func(cx *sched.Context) {
				n++
				select {
				case ticks <- cx.Worker():
				default: // the test is late
				}
				switch n {
				case 2:
					panic("a bad one")
				case 3:
					panic(nil)
				}
			}},
			{Every: time.Millisecond, Do: func(cx *sched.Context) {
				_, _ = sched.Await(cx, sched.Sleep(time.Millisecond))
				select {
				case slept <- struct{}{}:
				default:
				}
			}},
		}})
		for range 5 {
			require.GreaterOrEqual(t, conntest.Receive(t, ticks), 0)
			conntest.Receive(t, slept)
			roundTrip(t, s.dial(), "hello")
		}
		require.Contains(t, s.log.String(), "a bad one")
		require.Equal(t, 2, s.log.Count("a Ticker panicked"))
		require.NoError(t, s.Shutdown(t.Context()))
		for len(ticks) > 0 {
			<-ticks
		}
		time.Sleep(5 * time.Millisecond) // not for anything to happen, but for nothing to
		require.Empty(t, ticks)
	})
}

func TestATickerThatCannotTickIsRefused(t *testing.T) {
	s := &server.Server{Handler: echo{}, Tickers: []server.Ticker{{Do: func(*sched.Context) {}}}}
	requireAdvice(t, s.ListenAndServe(), "use a period above 0")
}

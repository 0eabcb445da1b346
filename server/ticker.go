package server

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/sched"
)

// A Ticker has something done again and again on one of the server's workers, from
// when it starts to when it has stopped.
type Ticker struct {
	// Every is the period, above 0. A time that is missed is skipped.
	Every time.Duration

	// Do must not block, but may Await. A panic is logged, and the next time comes
	// all the same.
	Do func(cx *sched.Context)
}

func (s *Server) checkTickers() error {
	for i, t := range s.Tickers {
		if t.Every <= 0 || t.Do == nil {
			return fmt.Errorf("server: Tickers[%d] has a period of %v and Do %v; use a period above 0 and a function",
				i, t.Every, t.Do != nil)
		}
	}
	return nil
}

// startTickers starts tasks that the end of the workers ends.
func (s *Server) startTickers(group *conn.Group) {
	rt := group.Runtime()
	for _, t := range s.Tickers {
		sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			every := sched.NewIntervalAt(saturate.Add(rt.Now(), t.Every), t.Every).OnMissed(sched.Skip)
			for {
				if _, err := every.Tick(cx); err != nil {
					return struct{}{}, err
				}
				t.tick(cx, group)
			}
		}).Detach()
	}
}

func (t *Ticker) tick(cx *sched.Context, group *conn.Group) {
	defer func() {
		if v := recover(); v != nil {
			group.Logger().Error("server: a Ticker panicked", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	t.Do(cx)
}

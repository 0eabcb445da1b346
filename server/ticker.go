package server

import (
	"fmt"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/sched"
)

// A Ticker calls a function at intervals on one of the server's workers, from the start of the
// server to its end.
type Ticker struct {
	// Every is the period, above 0. A tick that is missed is skipped.
	Every time.Duration

	// Do is the function. It must not block, but may Await. A panic is logged, and the next tick
	// follows as usual.
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

// startTickers starts the tasks of the Tickers, which end with the workers.
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
	if p := panics.Try(func() { t.Do(cx) }); p != nil {
		group.Logger().Error("server: a Ticker panicked", "panic", p.Value, "stack", string(p.Stack))
	}
}

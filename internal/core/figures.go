package core

import (
	"time"

	"github.com/suiro-go/suiro/internal/engine"
)

// A life is what the figures of an origin get of a connection that ends.
type life struct {
	from    *engine.Origin // nil: the connection belongs to none
	took    time.Duration
	traffic Traffic
	ending  engine.Ending
}

func lifeOf(c *Conn) life {
	return life{c.Origin(), c.Driver.Cx.Now() - c.mark.began(), c.Traffic(), engine.EndingOf(c.Cause())}
}

// Began is when the connection was accepted, or its dial began.
func (c *Conn) Began() time.Time { return c.Group.Runtime.Time(c.mark.began()) }

// Began is when the TLS handshake began; zero: it has not.
func (f *Filter) Began() time.Time {
	if f == nil || !f.shook {
		return time.Time{}
	}
	return f.Conn.Group.Runtime.Time(f.began)
}

// Failure is the error.type of a handshake that has failed, or "".
func (f *Filter) Failure() string {
	if f == nil {
		return ""
	}
	return engine.FailureNames[f.failure]
}

// count is called when the connection is no longer in the table. So a reader that adds up first the
// counters, then the connections of the table, counts no byte twice.
func (l *life) count(d *Driver) {
	if l.from == nil {
		return
	}
	p := l.from.Part(d.Worker)
	p.Received.Add(l.traffic.Received)
	p.Sent.Add(l.traffic.Sent)
	p.Lived(l.took, l.ending)
	p.Ended.Add(1)
}

// BeginHandshake counts a TLS handshake. It is called on the task.
func (f *Filter) BeginHandshake() {
	f.began, f.shook = f.Conn.Driver.Cx.Now(), true
	if p := f.part(); p != nil {
		f.counted = true
		p.Shaking.Add(1)
	}
}

// EndHandshake counts the end of a handshake that BeginHandshake has counted. It is called on the
// task. nil: the handshake is complete.
func (f *Filter) EndHandshake(err error) {
	if f == nil || !f.shook {
		return
	}
	f.failure = engine.FailureOf(err)
	if p := f.part(); p != nil && f.counted {
		p.Shook(f.Conn.Driver.Cx.Now()-f.began, f.failure)
	}
	f.counted = false
}

func (f *Filter) part() *engine.OriginPart {
	from := f.Conn.Origin()
	if from == nil {
		return nil
	}
	return from.Part(f.Conn.Driver.Worker)
}

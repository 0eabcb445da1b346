package natscluster

import (
	"errors"
	"fmt"

	"github.com/suiro-go/suiro/internal/background"
	"github.com/suiro-go/suiro/internal/panics"
)

// Functions of the user may panic or call runtime.Goexit. A node goes on: the goroutines that they
// are called on receive all frames, send heartbeats or renew the lease.

// errCrashed is the error of a call whose message the Codec could not encode or decode.
var errCrashed = errors.New("natscluster: the Codec has panicked or exited")

// try calls f, and logs its panic.
func (c *Cluster) try(what string, f func()) {
	if p := panics.Try(f); p != nil {
		c.cfg.Logger.Error("natscluster: "+what+" panicked", "panic", p.Value, "stack", string(p.Stack))
	}
}

// apart calls f on a goroutine of its own, which f may exit, and waits for it.
func apart(f func()) {
	over := make(chan struct{})
	background.Go(func() {
		defer close(over)
		f()
	})
	<-over
}

// tryApart is try on a goroutine of its own.
func (c *Cluster) tryApart(what string, f func()) { apart(func() { c.try(what, f) }) }

// decode decodes a message of another node. It logs why it cannot.
func (c *Cluster) decode(t *messageType, data []byte) (m any, ok bool) {
	err := errCrashed
	defer func() {
		if err != nil {
			c.cfg.Logger.Warn("natscluster: a message cannot be decoded", "type", t.name, "error", err)
		}
	}()
	if p := panics.Try(func() { m, err = t.decode(c.cfg.Codec, data) }); p != nil {
		err = fmt.Errorf("natscluster: the Codec panicked: %v\n%s", p.Value, p.Stack)
	}
	return m, err == nil
}

// nodeChanged calls Config.NodeChanged.
func (c *Cluster) nodeChanged(node uint64, found bool) {
	if c.cfg.NodeChanged != nil {
		c.tryApart("NodeChanged", func() { c.cfg.NodeChanged(node, found) })
	}
}

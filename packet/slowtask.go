package packet

import (
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/sched"
)

var _ sched.Describer = (*connTask)(nil)

// DescribeTask implements sched.Describer. Only a connected socket has one peer to name.
func (t *connTask) DescribeTask() (handler, peer string) {
	if t.peer.IsValid() {
		peer = t.peer.String()
	}
	return engine.HandlerName(t.handler), peer
}

// TaskListener names the listening socket in labels of profiles.
func (t *connTask) TaskListener() string { return t.from.Listener() }

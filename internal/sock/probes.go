package sock

import (
	"net"
	"time"
)

// maxKeepAlive is the most that Linux takes, and that every other system can say, some nine
// hours.
const maxKeepAlive = 32767 * time.Second

// probes is k within what the systems take.
func probes(k net.KeepAliveConfig) net.KeepAliveConfig {
	k.Idle, k.Interval = min(k.Idle, maxKeepAlive), min(k.Interval, maxKeepAlive)
	return k
}

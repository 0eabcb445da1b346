package sock

import (
	"net"
	"time"
)

// maxKeepAlive is the most that Linux takes, and that every other system can say, some nine
// hours.
const maxKeepAlive = 32767 * time.Second

// probes is k in whole seconds, rounded up as package net does, and within what the systems take.
func probes(k net.KeepAliveConfig) net.KeepAliveConfig {
	k.Idle, k.Interval = wholeSeconds(k.Idle), wholeSeconds(k.Interval)
	return k
}

func wholeSeconds(d time.Duration) time.Duration {
	if d = min(d, maxKeepAlive); d > 0 {
		d = (d + time.Second - 1).Truncate(time.Second)
	}
	return d
}

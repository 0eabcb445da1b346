package gateway

import "time"

// A pace bounds how long one side of a client is waited for: the average rate of what it sends, or
// takes, must not fall below rate. Only the time for which the client is waited for counts, so a
// slow upstream is not the client's fault. The first grace is free.
type pace struct {
	rate   int64 // bytes in a second; 0: no bound
	grace  time.Duration
	moved  int64
	waited time.Duration
}

// limit is how long the client may take for n bytes more, at most idle.
func (p *pace) limit(n int, idle time.Duration) time.Duration {
	if p.rate <= 0 {
		return idle
	}
	seconds := float64(p.moved+int64(n)) / float64(p.rate)
	if seconds > (idle + p.waited).Seconds() {
		return idle
	}
	return min(idle, max(p.grace+time.Duration(seconds*float64(time.Second))-p.waited, 0))
}

// spent notes that the client was waited for since a time, and has sent or taken n bytes.
func (p *pace) spent(since time.Time, n int) {
	p.waited += time.Since(since)
	p.moved += int64(n)
}

package blocking

import "time"

// A Config describes a pool. The zero value is a good default.
type Config struct {
	// MaxThreads is the maximum number of calls in progress, each on its own goroutine. The
	// package's documentation explains this limit. 0: 512. The largest value is 8,000.
	MaxThreads int

	// KeepAlive is how long a goroutine waits idle for another call before it ends. It may wait up
	// to a quarter longer. 0: 10 s. Negative: it ends at once.
	KeepAlive time.Duration
}

const (
	defaultThreads   = 512
	maxThreads       = 8000 // of all pools; Go allows 10,000 threads
	defaultKeepAlive = 10 * time.Second
)

func (cfg Config) withDefaults() Config {
	if cfg.MaxThreads <= 0 {
		cfg.MaxThreads = defaultThreads
	}
	cfg.MaxThreads = min(cfg.MaxThreads, maxThreads)
	if cfg.KeepAlive == 0 {
		cfg.KeepAlive = defaultKeepAlive
	}
	return cfg
}

package blocking

import "time"

// A Config describes a pool. The zero value is good.
type Config struct {
	// MaxThreads is how many calls can be under way at once, each on a goroutine of
	// its own: see the package's documentation for what that bounds. 0: 512. More than
	// 8,000 is 8,000.
	MaxThreads int

	// KeepAlive is how long a goroutine waits idle for another call before it ends, and
	// at most a quarter longer. 0: 10 s. Negative: not at all.
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

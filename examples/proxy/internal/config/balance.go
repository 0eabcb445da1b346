package config

import "fmt"

// A Balance says which upstream is next.
type Balance string

const (
	RoundRobin       Balance = "round_robin"       // each in turn, as often as its weight says
	LeastConnections Balance = "least_connections" // the upstream with the fewest, for its weight
	SourceHash       Balance = "source_hash"       // the same for the same client's address, as long as it is well
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Balance) UnmarshalText(text []byte) error {
	switch v := Balance(text); v {
	case RoundRobin, LeastConnections, SourceHash:
		*b = v
		return nil
	default:
		return fmt.Errorf("unknown balance %q: use %s, %s or %s", text, RoundRobin, LeastConnections, SourceHash)
	}
}

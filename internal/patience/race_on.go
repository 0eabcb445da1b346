//go:build race

package patience

// UnderRace reports whether the race detector is on.
const UnderRace = true

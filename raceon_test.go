//go:build race

package suiro_test

// raceEnabled makes the tests build the guides' programs with the race detector.
const raceEnabled = true

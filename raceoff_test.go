//go:build !race

package suiro_test

const raceEnabled = false

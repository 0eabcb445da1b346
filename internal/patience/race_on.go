//go:build race

package patience

const underRace = true

//go:build !race

package patience

const underRace = false

// Package hook puts Suiro in the place of package net within the tests of Go's own packages.
// Each function is what a variable is set to that the overlay (see package std) adds to net and
// net/http. It reports false for what Suiro does not do, which is then package net's.
package hook

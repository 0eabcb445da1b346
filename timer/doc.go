// Package timer is a hierarchical timing wheel: a pure data structure. Time is an argument of its
// methods. It starts no goroutine, reads no clock and takes no lock; the owner of a [Wheel] does
// that. The package is unstable: it is made for package sched, and may change in any minor version.
//
// The wheel has 5 levels of 64 slots. Level 0 holds the next 64 ticks, one per slot. Level 1 holds
// the next 64² ticks, 64 per slot, and so on up to 64⁵ ticks, which are 12.4 days at a millisecond
// each. Later entries wait in an overflow list. When time reaches a slot of a higher level, its
// entries move down, so that an entry expires at its exact tick. Insert, Remove and Next are O(1):
// counting leading zeros finds a level, and counting trailing zeros in the level's occupancy word
// finds a slot.
//
// After G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels",
// 1987, in the shape that Tokio and the Linux kernel gave it.
package timer

// Package timer is a hierarchical timing wheel: a pure data structure, in which
// time is an argument. It starts no goroutine, reads no clock and takes no
// lock; whoever owns a [Wheel] does.
//
// The wheel has 5 levels of 64 slots. Level 0 holds the next 64 ticks one by
// one, level 1 the next 64² in slots of 64, and so on up to 64⁵ ticks (12.4
// days at a millisecond each); what is further off waits in an overflow list.
// As time reaches a slot of a higher level, its entries move down, so that an
// entry expires at its exact tick. Insert, Remove and finding the next expiry
// are O(1): a level is found by counting leading zeros, a slot by counting
// trailing zeros in the level's occupancy word.
//
// After G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels",
// 1987, in the shape that Tokio and the Linux kernel gave it.
package timer

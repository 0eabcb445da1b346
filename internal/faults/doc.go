// Package faults is how tests have the kernel fail. A [Plan] says which of the
// system calls that a reactor makes, by kind and in what measure, come back with an
// error, or are made for less than was asked. It goes into reactor.Config.Faults,
// which nobody outside of this module can set.
//
// A plan is a function of its seed and of how many calls of the kind there have been:
// the same calls meet the same faults, however the kinds interleave. What a fault
// means at each place, the backends say; what they make of it is always something
// that a kernel may do, and nothing that is on its way is lost by it.
package faults

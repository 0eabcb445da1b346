// Package faults makes the kernel fail in tests. A [Plan] says which of a reactor's system calls,
// by kind and in what measure, return an error, or are made for fewer bytes. [Into] puts it into a
// reactor.Config.
//
// A plan is a function of its seed and of the number of calls of each kind. So the same calls meet
// the same faults in any interleaving of the kinds. The backends say what a fault means at each
// place. They turn it only into results that a kernel may return, and lose no data by it.
package faults

// Package handover has the small protocols by which goroutines and a task hand work to each
// other without losing a wake-up: each side first says what it has done, then looks at what
// the other has said. A lost wake-up would need both to look before the other has said it.
//
// The types know nothing of tasks or connections. Their methods report whether the caller has
// to wake the task.
package handover

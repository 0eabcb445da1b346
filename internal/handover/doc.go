// Package handover has the small protocols by which goroutines and a task hand work to each other
// without losing a wake-up. Each side first publishes its change, then looks at the other's. A lost
// wake-up would need both to look before the other has published.
//
// The types know nothing of tasks or connections. Their methods report whether the caller has to
// wake the task.
package handover

// Package owned has counters and histograms that one goroutine writes and all goroutines read.
//
// The writer is the owner, mostly a worker. An owner adds by an atomic load and an atomic store,
// not by an atomic addition: nobody else writes, so nothing is lost between the two. A goroutine
// may pass the ownership on if the next owner's writes happen after its own, as with the runs of a
// task.
//
// Readers use atomic loads, so the race detector and the memory model of Go are content. A reader
// that loads several values gets each of them at a moment of its own. Each value only grows. So the
// buckets of a histogram, its count and its sum may differ by the values that were recorded while
// the reader read. A reader stops no owner and takes no lock.
//
// Owners that run on different processors have blocks of their own, with padding where arrays of
// them would share a cache line. To read a figure of all owners is to add their values.
package owned

// Package atomics has the words and the lock of the parts that are argued step by
// step: queues, state words, parking. They are names for what sync and sync/atomic
// have. Under the tag explore they are shims that hand control to the interleaving
// explorer at each operation; outside of its threads these act as the others do.
package atomics

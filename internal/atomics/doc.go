// Package atomics has the atomic words and the lock of the lock-free parts: queues, state words,
// parking. They are names for types of sync and sync/atomic. Under the tag explore they are shims
// that give control to the interleaving explorer at each operation. Outside of its threads these
// act as the others do.
package atomics

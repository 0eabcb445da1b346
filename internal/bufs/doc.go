// Package bufs has memory for bytes that wait: each worker's pools of buffers, the depot that
// workers and goroutines share, blocks for bytes that goroutines have not read yet, and a queue.
package bufs

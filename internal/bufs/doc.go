// Package bufs is memory for bytes that wait: each worker's pools of buffers, the depot that
// workers and goroutines share, blocks for what goroutines have not read yet, and a queue.
package bufs

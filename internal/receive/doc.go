// Package receive decides who takes the bytes of one connection out of the kernel: the reactor, or
// the connection's task by system calls of its own. It is pure data: the caller reports how many
// bytes arrived, and makes all calls.
//
// A reactor receives into buffers of at most 64 KiB before the task runs. io_uring does so without
// a system call for each connection, so this is cheapest for small messages. A task reads once the
// reactor has reported that the socket is ready. Its reads are larger, into memory that is still in
// the cache when the handler looks, or into a pipe of the kernel. This is cheaper for bulk data.
//
// The change has hysteresis: some runs with much make the task receive, and some reads with little
// in a row make the reactor receive again.
package receive

// Package membudget bounds the bytes that the connections of a group buffer together. The policy,
// in order:
//
//  1. Above three quarters of the bound nothing is accepted and no handler gets received bytes:
//     they wait in the kernel's buffers and in those of the peers. Input goes on, first come
//     first served, as peers take output.
//  2. The connection with the most is reset when connections themselves have buffered as much as
//     the bound. It is reset above three quarters as well if nothing is unsent and a task waits,
//     since the wait would not help. Bytes that goroutines hold reset no connection: they give
//     them back when they read.
//
// The package counts, and has the queue for memory. It knows nothing of connections: a task that
// waits is a Waker, and the caller resets a connection when a method says so.
package membudget

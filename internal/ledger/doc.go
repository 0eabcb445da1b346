// Package ledger bounds what the connections of a group buffer together. The policy, in order:
//
//  1. Above three quarters of the bound nothing is accepted and no handler is called with what
//     has arrived: it waits in the kernel's buffers and in those of the peers. It goes on,
//     first come first, as peers take what was written.
//  2. The connection with the most is reset when connections themselves have buffered as much as
//     the bound. It is reset above three quarters as well if nothing is unsent and a task waits,
//     since the wait would not help. What goroutines hold resets no connection: they give it
//     back when they read.
//
// The package counts, and knows who waits for memory. It knows nothing of connections: whose
// task waits is a Waker, and the caller resets a connection when a method says so.
package ledger

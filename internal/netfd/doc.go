// Package netfd has sockets on which tasks and goroutines make the system calls themselves. A call
// waits only when the kernel says EAGAIN. So the kernel's buffers are the flow control, and a
// socket that waits holds no memory but its own.
//
// An FD is package readiness on a reactor: its edges come from a Watch, its waits are futures. The
// caller of a method gives its context: a task that waits is suspended, a goroutine blocks.
//
// An Input is for calls that return received bytes in place.
package netfd

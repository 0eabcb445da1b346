// Package blocking is a pool for calls that block: reading files, resolving names,
// cgo, long computations. A task that made such a call itself would hold up its worker
// and everything that waits behind it; instead it awaits [Do], and meanwhile its
// worker runs other tasks:
//
//	var pool blocking.Pool
//	...
//	data, err := blocking.Do(cx, &pool, func() ([]byte, error) { return os.ReadFile(name) })
//
// [Submit] starts a call from anywhere, and its [Handle] is a future of the result. Of
// pools there may be any number, and none belongs to a runtime.
//
// # Threads
//
// A thread of the pool, as other runtimes call it, is a goroutine here. It is started when
// a call finds none idle, up to a limit. Beyond the limit calls wait in a queue, first come
// first served. A thread that has been idle for the keep-alive time ends.
//
// A goroutine that waits in a system call or in cgo holds an operating system's thread
// for that time. One that computes holds a processor. One that waits for a channel, a
// lock or the network holds neither. So the limit bounds the threads that calls can
// occupy at once, their memory, and the load on the called service.
// Go ends the process when there are more than 10,000 threads (debug.SetMaxThreads). All
// pools of a process together therefore have at most 8,000 goroutines, except that each
// pool may always have one. The rest is left to the program's other threads.
//
// # Ends
//
// A call that has not started can be aborted. A started one goes on to its end, since
// nothing can stop it. But its task need not wait: Await returns, and the result is
// dropped (released, if it is a [sched.Releaser]). A panic of the call is its error, a
// *[sched.PanicError], and a runtime.Goexit is [sched.ErrGoexit]. If nobody waits any
// more, the panic is logged. It goes to the Logger of the runtime whose task has waited,
// or to slog's default logger if only goroutines have.
//
// # Virtual time
//
// While a task of a runtime with a virtual clock (sched.Config.Paused) waits for a call,
// or has waited for it and given up, that runtime's clock stands still until the call
// has ended: see sched.Runtime.HoldClock.
//
// # Bubbles of testing/synctest
//
// A pool that New made outside bubbles can be used in any, and outside. Its goroutines belong to no
// bubble, so its calls must not use channels, timers or WaitGroups of one. A bubble's time stands
// still while something in the bubble waits for a call: the deadline of the wait's context is real
// time then. A pool that New made in a bubble belongs to that bubble: only goroutines of the bubble
// may use it, and it must be shut down before the bubble ends. For a zero Pool the first call
// decides.
package blocking

// Package dispatch says where the code of a task runs. [On] runs a function elsewhere and resumes
// its caller where it was, as Kotlin's withContext does:
//
//	hash, err := dispatch.On(cx, cpu, func(context.Context) ([]byte, error) {
//		return derive(password)
//	})
//
//	Default(rt)   tasks of a runtime
//	IO(pool)      goroutines of a pool, which may block
//	Custom(n)     a runtime of its own with n workers
//	Single()      one worker: functions never run at the same time
//	Unconfined    the caller's task
//
// # Ownership
//
// kcoro's rules for its dispatchers hold by construction. Each dispatcher with workers has one
// [sched.Runtime], and a task belongs to one runtime for its life. So only that runtime's workers
// run the task and change its queues. The state of a task is one atomic word, and only a worker
// changes it to running. A goroutine or another runtime resumes a task only by a [sched.Waker],
// which queues it at its own runtime. A queue's links are fields of the tasks, so there is no node
// to free too early, and the generation of a waker protects memory that is used again.
package dispatch

// Package inline has functions of package sched that are for the packages of connections alone, so
// that the API of sched does not show them. Package sched sets them.
//
// For a waiting task, a driver's Poll may have so little work that most of the cost would be to
// queue the task, run it, and suspend it again. Such a task may let itself be entered: the
// goroutine that takes the completions does that piece of the task's work at once, inside Poll.
package inline

// In the arguments, cx is a *sched.Context and task a *sched.Task.
var (
	// Allow allows Enter to begin runs of the running task, from now on.
	Allow func(task any)

	// Enter begins a run of a task that waits, after Allow. Until Leave, which should follow soon,
	// the caller may use all data that only the task's runs touch. Enter reports false, and has
	// done nothing, if the task does not wait, is pinned to another worker, or there are hooks for
	// runs. It is for a driver in its Poll, and never waits.
	Enter func(cx, task any) bool

	// Leave ends the run that Enter has begun. If the task has been woken since, it runs again
	// soon.
	Leave func(cx, task any)

	// Alone reports whether the worker of cx alone would probably run n short tasks that are woken
	// now. Either no other worker is idle, or the tasks are not worth its wake-up. The cost of
	// entered work is not measured; a driver's Poll bounds it.
	Alone func(cx any, n int) bool
)

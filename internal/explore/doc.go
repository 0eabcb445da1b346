// Package explore runs a few threads in every order there is, up to a bound, and
// finds the order in which they fail.
//
// The code under test uses the shims of this package ([Word], [Pointer],
// [Mutex]) instead of sync/atomic and sync. A scenario makes fresh state, starts
// threads and says what must hold:
//
//	explore.Explore(t, explore.Options{Preemptions: 2}, func(x *explore.Execution) {
//		var n explore.Word[int32]
//		add := func() { n.Store(n.Load() + 1) }
//		x.Go("one", add)
//		x.Go("two", add)
//		x.Finally(func() { x.Require(n.Load() == 2, "an increment was lost") })
//	})
//
// It is called once per schedule. Threads are coroutines of which one runs at a
// time. Each operation on a shim is a point at which another may go on instead;
// a depth-first search goes through the choices, replaying the scenario from its
// beginning for each, so all that a scenario does must follow from them: no
// time, no randomness, no order of a map.
//
// What it finds is limited to sequentially consistent memory. That is what Go's
// atomics have; plain memory that races it shows only as far as Options.Plain
// says.
//
// Outside of a thread the shims act plainly. While an exploration runs, though,
// no other goroutine may use any: explorations are not for parallel tests.
package explore

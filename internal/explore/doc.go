// Package explore runs a few threads in every possible order, up to a bound, and finds an order in
// which they fail.
//
// The code under test uses the shims of this package ([Word], [Pointer], [Mutex]) instead of
// sync/atomic and sync. A scenario makes fresh state, starts threads, and checks its requirements:
//
//	explore.Explore(t, explore.Options{Preemptions: 2}, func(x *explore.Execution) {
//		var n explore.Word[int32]
//		add := func() { n.Store(n.Load() + 1) }
//		x.Go("one", add)
//		x.Go("two", add)
//		x.Finally(func() { x.Require(n.Load() == 2, "an increment was lost") })
//	})
//
// The scenario is called once per schedule. Threads are coroutines; only one of them runs at a
// time. At each operation on a shim, the search may continue another thread instead. A depth-first
// search goes through these choices, and replays the scenario from its beginning for each one. So
// all actions of a scenario must follow from the choices: no time, no randomness, no order of a
// map.
//
// The search covers only sequentially consistent memory, which Go's atomics have. It shows races
// of plain memory only to the extent that Options.Plain describes.
//
// Outside of threads the shims act as ordinary atomics. But while an exploration runs, no other
// goroutine may use any shim: explorations are not for parallel tests.
package explore

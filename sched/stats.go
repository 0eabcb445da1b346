package sched

import (
	"sync"
	"time"
)

// SlowPollRanges is the number of ranges of durations in WorkerStats.SlowPollTimes.
const SlowPollRanges = 12

// WorkerStats are one worker's counts since its start.
type WorkerStats struct {
	SpawnedLocal     uint64 // tasks spawned by tasks on this worker
	Polled           uint64 // runs of tasks
	LIFOHits         uint64 // runs of tasks that were taken from the LIFO slot
	BatchFetches     uint64 // fetches from the global queue
	Overflows        uint64 // times that the queue was full
	StealAttempts    uint64 // queues that were checked for tasks to steal
	Steals           uint64 // checks that took at least one task
	Stolen           uint64 // tasks taken from other workers
	Parks            uint64 // waits in the driver
	Unparks          uint64 // ends of such waits
	Claimed          uint64 // ends of waits because there was work elsewhere
	WakesSpared      uint64 // times that I/O had queued too little work to wake another worker
	Rescues          uint64 // times that a stuck worker's driver had events for this worker
	Rescued          uint64 // number of these events
	CoroutinesReused uint64 // stackful tasks that needed no new stack
	Completed        uint64 // tasks that have ended
	Events           uint64 // events that its polls of the driver have returned
	TimersFired      uint64 // timers that it has found to be due
	SlowPolls        uint64 // runs that took Config.SlowTask or longer; counted when they end

	// SlowPollTimes counts the runs of SlowPolls by duration. The first range is up to twice
	// Config.SlowTask, the next one up to four times, and so on. The last range is unbounded.
	SlowPollTimes [SlowPollRanges]uint64

	// PollEvents counts the polls of the driver by their events: none, 1, 2 to 3, 4 to 7, and so
	// on. The last range is unbounded.
	PollEvents [PollRanges]uint64

	// Busy is the time in which the worker has not waited in its driver. It has a run once that has
	// ended.
	Busy time.Duration

	MaxPoll time.Duration // the longest run of SlowPolls

	// The following values are those at the time of the snapshot. Coroutines is the number of
	// stacks in use by stackful tasks and sequential handlers. Where these move between workers, a
	// worker's value is the number begun on it minus the number ended on it.
	Coroutines     int
	Queued         int           // tasks in its queues
	GlobalInterval int           // tasks between two looks at the global queue
	MeanPoll       time.Duration // mean duration of a task's run: a moving average
	Hold           time.Duration // how long it holds before it blocks

	asOf time.Duration // Runtime.Now when the worker published
}

// Stats are a runtime's counts since New.
type Stats struct {
	Workers []WorkerStats // by index; existing spare workers come after the others
	Total   WorkerStats   // their sum; for GlobalInterval, MeanPoll and Hold the mean, for MaxPoll the maximum

	SpawnedRemote uint64 // tasks spawned from outside the workers
	Deployments   uint64 // times that a spare worker was put into service
	Exhausted     uint64 // times that all workers and Config.Spares spare workers were stuck
	Panics        uint64 // panics that became nobody's result: see Config.Logger

	// The following values are those at the time of the snapshot.
	GlobalQueued int // tasks in the global queue
	LongQueued   int // tasks set aside because their last run was long, without pinned ones
	Searching    int // workers that search for work
	Parked       int // workers that wait, without spare workers
	Deployed     int // spare workers in service

	// For Metrics.
	base        int // workers without spares
	timers      int
	remoteWakes uint64
}

// publishedCounts is the copy of a worker's counts that other goroutines read.
type publishedCounts struct {
	mu     sync.Mutex
	counts WorkerStats
}

// publish updates that copy when the worker parks and about once a millisecond.
func (w *worker) publish() {
	w.count.GlobalInterval = w.adapt.interval
	w.count.MeanPoll = time.Duration(w.adapt.cost)
	w.count.Hold = w.adapt.hold
	w.addBusy()
	w.count.asOf = w.now
	w.counts.mu.Lock()
	w.counts.counts = w.count
	w.counts.mu.Unlock()
}

// Stats returns a snapshot. Workers publish their counts when they park, and about once a
// millisecond while they run. The call is cheap.
func (rt *Runtime) Stats() Stats {
	s := Stats{
		SpawnedRemote: rt.spawnedRemote.Load(),
		Panics:        rt.panics.Load(),
		GlobalQueued:  int(rt.global.len.Load()),
		LongQueued:    int(rt.long.len.Load()),
		Searching:     int(rt.idle.searching.Load()),
		Parked:        rt.idle.parked(),
	}
	all := rt.team()
	s.Deployments, s.Exhausted = rt.spares.deployments.Load(), rt.spares.exhaustions.Load()
	for _, w := range all {
		if w.isSpare() && w.spare.deployed.Load() {
			s.Deployed++
		}
		w.counts.mu.Lock()
		c := w.counts.counts
		w.counts.mu.Unlock()
		c.Queued = w.queue.len() + w.batch.len() + int(w.inbox.len.Load())
		s.Workers = append(s.Workers, c)
		s.Total.add(&c)
	}
	n := len(all)
	s.Total.Coroutines = max(0, s.Total.Coroutines) // an end may be published before its begin
	s.Total.GlobalInterval /= n
	s.Total.MeanPoll /= time.Duration(n)
	s.Total.Hold /= time.Duration(n)
	return s
}

// Tasks is the number of spawned tasks that are not done. It looks at each task, so it is for
// reports and tests. Any goroutine may call it. Connections do not count. While tasks spawn
// others, the number is not that of a single moment.
func (rt *Runtime) Tasks() int {
	n := 0
	rt.depots.each(func(d anyDepot) { n += d.living() })
	return n
}

func (s *WorkerStats) add(c *WorkerStats) {
	s.SpawnedLocal += c.SpawnedLocal
	s.Polled += c.Polled
	s.LIFOHits += c.LIFOHits
	s.BatchFetches += c.BatchFetches
	s.Overflows += c.Overflows
	s.StealAttempts += c.StealAttempts
	s.Steals += c.Steals
	s.Stolen += c.Stolen
	s.Parks += c.Parks
	s.Unparks += c.Unparks
	s.Claimed += c.Claimed
	s.WakesSpared += c.WakesSpared
	s.Rescues += c.Rescues
	s.Rescued += c.Rescued
	s.CoroutinesReused += c.CoroutinesReused
	s.Coroutines += c.Coroutines
	s.Completed += c.Completed
	s.Events += c.Events
	s.TimersFired += c.TimersFired
	for i, n := range c.PollEvents {
		s.PollEvents[i] += n
	}
	s.Busy += c.Busy
	s.SlowPolls += c.SlowPolls
	for i, n := range c.SlowPollTimes {
		s.SlowPollTimes[i] += n
	}
	s.MaxPoll = max(s.MaxPoll, c.MaxPoll)
	s.Queued += c.Queued
	s.GlobalInterval += c.GlobalInterval
	s.MeanPoll += c.MeanPoll
	s.Hold += c.Hold
}

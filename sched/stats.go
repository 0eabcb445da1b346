package sched

import (
	"sync"
	"time"
)

// WorkerStats are one worker's counts since its start.
type WorkerStats struct {
	SpawnedLocal     uint64 // tasks spawned by tasks on this worker
	Polled           uint64 // runs of tasks
	LIFOHits         uint64 // of them, those taken from the LIFO slot
	BatchFetches     uint64 // fetches from the global queue
	Overflows        uint64 // times the queue was full
	StealAttempts    uint64 // queues looked into
	Steals           uint64 // of them, those something was taken from
	Stolen           uint64 // tasks taken
	Parks            uint64 // waits in the driver
	Unparks          uint64 // and ends of them
	Claimed          uint64 // of those, the ones for work elsewhere
	WakesSpared      uint64 // times I/O had queued too little to wake a peer for it
	Rescues          uint64 // times a stuck worker's driver had something for this one
	Rescued          uint64 // how much
	CoroutinesReused uint64 // stackful tasks that needed no new stack

	// As of the snapshot.
	Queued         int           // tasks in its queues
	GlobalInterval int           // tasks between two looks at the global queue
	MeanPoll       time.Duration // of a task's run: a moving average
	Hold           time.Duration // how long it holds before it blocks
}

// Stats are a runtime's counts since New.
type Stats struct {
	Workers []WorkerStats
	Total   WorkerStats // their sum; of GlobalInterval, MeanPoll and Hold the mean

	SpawnedRemote uint64 // tasks spawned from outside the workers

	// As of the snapshot.
	GlobalQueued int // tasks in the global queue
	LongQueued   int // tasks set aside because their last run was long
	Searching    int // workers that look for work
	Parked       int // workers that wait
}

// publishedCounts is the copy of a worker's counts that others may read.
type publishedCounts struct {
	mu     sync.Mutex
	counts WorkerStats
}

// publish is called when the worker parks and about once a millisecond.
func (w *worker) publish() {
	w.count.GlobalInterval = w.adapt.interval
	w.count.MeanPoll = time.Duration(w.adapt.cost)
	w.count.Hold = w.adapt.hold
	w.counts.mu.Lock()
	w.counts.counts = w.count
	w.counts.mu.Unlock()
}

// Stats is a snapshot. Workers publish their counts when they park and about once
// a millisecond while they run. It is cheap.
func (rt *Runtime) Stats() Stats {
	s := Stats{
		SpawnedRemote: rt.spawnedRemote.Load(),
		GlobalQueued:  int(rt.global.len.Load()),
		LongQueued:    int(rt.long.len.Load()),
		Searching:     int(rt.idle.searching.Load()),
		Parked:        rt.idle.parked(),
	}
	for _, w := range rt.workers {
		w.counts.mu.Lock()
		c := w.counts.counts
		w.counts.mu.Unlock()
		c.Queued = w.queue.len() + w.batch.len() + int(w.inbox.len.Load())
		s.Workers = append(s.Workers, c)
		s.Total.add(&c)
	}
	n := len(rt.workers)
	s.Total.GlobalInterval /= n
	s.Total.MeanPoll /= time.Duration(n)
	s.Total.Hold /= time.Duration(n)
	return s
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
	s.Queued += c.Queued
	s.GlobalInterval += c.GlobalInterval
	s.MeanPoll += c.MeanPoll
	s.Hold += c.Hold
}

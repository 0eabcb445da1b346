package sched

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// settle is how long a thread is left alone after it has announced a wait, so that it sleeps when
// it is woken.
const settle = 50 * time.Microsecond

// Measures how long a task that a busy worker queues waits until another worker runs it, and the
// parts of that time:
//
//	eventfd          write(2) until read(2) returns in another thread, without Go's scheduler
//	eventfd-syscall  with a wait that releases the processor, as a Poll that blocks does
//	searching        push until run, by a thief that searches all the time
//	parked           push until run, by a worker that waits in its driver and must be woken;
//	                 it was left alone a moment ago, so it holds its processor
//	blocked          like parked, by a worker that does not hold but blocks at once
//
// Times are medians and percentiles. x-eventfd is the median as a multiple of eventfd's median in
// the same run. Each side has its own processor, which nothing else should use.
func BenchmarkStealLatency(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 || len(usable()) < 2 {
		b.Skip("a thief needs a processor of its own")
	}
	var bare time.Duration
	run := func(name string, measure func(b *testing.B) []time.Duration) {
		b.Run(name, func(b *testing.B) {
			median := report(b, measure(b))
			if name == "eventfd" {
				bare = median
			} else if bare > 0 {
				b.ReportMetric(float64(median)/float64(bare), "x-eventfd")
			}
		})
	}
	run("eventfd", func(b *testing.B) []time.Duration { return eventfdLatency(b, unix.RawSyscall) })
	run("eventfd-syscall", func(b *testing.B) []time.Duration { return eventfdLatency(b, unix.Syscall) })
	run("searching", searchingLatency)
	run("parked", func(b *testing.B) []time.Duration { return parkedLatency(b, 0) })
	run("blocked", func(b *testing.B) []time.Duration { return parkedLatency(b, -1) })
}

func report(b *testing.B, samples []time.Duration) (median time.Duration) {
	slices.Sort(samples)
	at := func(percent int) time.Duration { return samples[(len(samples)-1)*percent/100] }
	b.ReportMetric(0, "ns/op") // has no meaning: most of it is the pause between two samples
	b.ReportMetric(float64(at(50)), "p50-ns")
	b.ReportMetric(float64(at(95)), "p95-ns")
	b.ReportMetric(float64(at(99)), "p99-ns")
	return at(50)
}

// spin keeps the processor.
func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

// until spins until cond holds. It calls no scheduler: the caller must keep its processor, and
// another processor makes cond true.
func until(cond func() bool) {
	for !cond() {
	}
}

// usable is the list of processors that the process may use. It is computed once, before a thread
// is bound to one of them.
var usable = sync.OnceValue(func() (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for cpu := range 8 * int(unsafe.Sizeof(set)) {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
})

// pin binds the calling goroutine to a thread, and the thread to a processor, by its index among
// the usable ones. The goroutine must not unlock the thread: the thread ends with the goroutine.
func pin(index int) {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(usable()[index])
	_ = unix.SchedSetaffinity(0, &set) // if this fails, the figures are only less precise
}

// onBoth runs two functions, each on its own processor.
func onBoth(functions ...func()) {
	var wg sync.WaitGroup
	for i, f := range functions {
		wg.Go(func() {
			pin(i)
			f()
		})
	}
	wg.Wait()
}

func newEventfd(b *testing.B, flags int) int {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|flags)
	if err != nil {
		b.Fatal(os.NewSyscallError("eventfd", err))
	}
	return fd
}

func signal(fd int) {
	one := uint64(1)
	unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}

type syscall3 func(trap, a1, a2, a3 uintptr) (r1, r2 uintptr, errno unix.Errno)

// eventfdLatency measures the wake-up of a thread that reads an eventfd.
func eventfdLatency(b *testing.B, read syscall3) []time.Duration {
	// The kernel cannot stop a thread in a raw read for Go, so nothing may stop the world while it
	// sleeps.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	fd := newEventfd(b, 0)
	defer unix.Close(fd)
	samples := make([]time.Duration, b.N)
	var wrote, waiting, returned atomic.Int64 // a time; numbers of samples
	epoch := time.Now()
	onBoth(func() {
		for i := range int64(len(samples)) {
			until(func() bool { return waiting.Load() == i+1 })
			spin(settle)
			wrote.Store(int64(time.Since(epoch)))
			signal(fd)
			until(func() bool { return returned.Load() == i+1 })
		}
	}, func() {
		count := new(uint64)
		for i := range samples {
			waiting.Store(int64(i + 1))
			for n := uintptr(0); n != 8; { // a signal may interrupt the read
				n, _, _ = read(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(count)), 8)
			}
			samples[i] = time.Since(epoch) - time.Duration(wrote.Load())
			returned.Store(int64(i + 1))
		}
		runtime.KeepAlive(count)
	})
	return samples
}

// stopwatch is the body of a task. It measures the time from queueing to the run.
type stopwatch struct {
	epoch   time.Time
	pushed  atomic.Int64 // since epoch
	samples []time.Duration
	ran     atomic.Int64 // the number of runs
}

func newStopwatch(n int) *stopwatch {
	return &stopwatch{epoch: time.Now(), samples: make([]time.Duration, n)}
}

func (s *stopwatch) push() { s.pushed.Store(int64(time.Since(s.epoch))) }

func (s *stopwatch) stop() {
	n := s.ran.Load()
	s.samples[n] = time.Since(s.epoch) - time.Duration(s.pushed.Load())
	s.ran.Store(n + 1)
}

func (s *stopwatch) Run(*Context) (done bool) { s.stop(); return false }

// searchingLatency measures the way of a task through a queue alone. The thief searches all the
// time, and does not poll a driver in between.
func searchingLatency(b *testing.B) []time.Duration {
	rt := New(Config{Workers: 2}) // never started: the benchmark drives the workers itself
	owner, thief := rt.workers[0], rt.workers[1]
	s := newStopwatch(b.N)
	var tasks [2]Task // used in turns: the last one may still be about to suspend
	for i := range tasks {
		tasks[i].Init(rt, s)
	}
	var stop atomic.Bool
	onBoth(func() {
		for i := range b.N {
			spin(time.Duration(1000 + owner.next64()%1000)) // a random pause, so that this loop and the thief's are not in step
			t := &tasks[i%2]
			s.push()
			if t.Waker().mustQueue() {
				owner.enqueue(t)
				owner.offer()
			}
			until(func() bool { return s.ran.Load() == int64(i+1) })
		}
		stop.Store(true)
	}, func() {
		for !stop.Load() {
			if thief.mayFind() {
				thief.search()
				thief.runTasks(tasksPerTick)
			}
		}
	})
	return s.samples
}

// parkedLatency measures the whole way. A task spawns another one, and does not return. The other
// worker sleeps in the kernel, is woken, finds the new task and runs it.
func parkedLatency(b *testing.B, hold time.Duration) []time.Duration {
	var drivers [2]*eventDriver
	rt := New(Config{
		Workers: 2,
		Hold:    hold,
		endless: true, // no watch, which would also wake the sleeper
		NewDriver: func(worker int) (Driver, error) {
			pin(worker) // on the worker's thread
			var err error
			drivers[worker], err = newEventDriver()
			return drivers[worker], err
		},
	})
	if err := rt.Start(); err != nil {
		b.Fatal(err)
	}
	defer rt.Close()
	s := newStopwatch(b.N)
	_, err := Spawn(rt, FutureFunc[int](func(cx *Context) (int, error) {
		asleep := &drivers[1-cx.Worker()].waits
		child := FutureFunc[int](func(*Context) (int, error) {
			if s.ran.Load() < int64(b.N) { // one more is spawned, to push the one before
				s.stop()
			}
			return 0, nil
		})
		Spawn(cx, child).Detach() // the latest spawn stays with this worker: each spawn pushes the task before
		for i := range b.N {
			until(asleep.Load)
			spin(settle)
			s.push()
			Spawn(cx, child).Detach()
			until(func() bool { return s.ran.Load() == int64(i+1) })
		}
		return 0, nil
	})).Wait(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return s.samples
}

// An eventDriver is a Driver without I/O. It waits in the kernel as one with I/O does: in an epoll
// that only Wake's eventfd ends.
type eventDriver struct {
	epoll, event int
	events       [1]unix.EpollEvent
	waits        atomic.Bool // it waits, or is about to

	mu     sync.Mutex // held by Wake, so that event is not closed meanwhile and its number not reused
	closed bool
}

var _ Driver = (*eventDriver)(nil)

func newEventDriver() (*eventDriver, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(epoll)
		return nil, os.NewSyscallError("eventfd", err)
	}
	d := &eventDriver{epoll: epoll, event: event}
	// Edge-triggered: each write is reported once, and need not be read.
	interest := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, event, &interest); err != nil {
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	return d, nil
}

func (d *eventDriver) Poll(_ *Context, wait time.Duration, hold bool) (int, error) {
	syscall6 := unix.Syscall6
	if hold || wait == 0 {
		syscall6 = unix.RawSyscall6
	}
	milliseconds := int((wait + time.Millisecond - 1) / time.Millisecond)
	if wait < 0 {
		milliseconds = -1
	}
	if wait != 0 {
		d.waits.Store(true)
		defer d.waits.Store(false)
	}
	_, _, errno := syscall6(unix.SYS_EPOLL_PWAIT, uintptr(d.epoll),
		uintptr(unsafe.Pointer(&d.events)), 1, uintptr(milliseconds), 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return 0, os.NewSyscallError("epoll_pwait", errno)
	}
	return 0, nil
}

func (d *eventDriver) Wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		signal(d.event)
	}
}

func (d *eventDriver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	_ = unix.Close(d.event)
	return os.NewSyscallError("close", unix.Close(d.epoll))
}

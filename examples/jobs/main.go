// Jobs is a queue of jobs with retries. Workers are supervised processes; some of their jobs fail.
//
//	go run ./examples/jobs [-jobs N] [-workers N] [-fail PERCENT]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A job fails on its first attempts.
type job struct{ failures, attempts int }

type (
	next struct{ worker process.PID } // a worker asks for a job
	done struct{ job *job }
)

const (
	mostAttempts = 4
	firstDelay   = time.Millisecond // before a retry; it doubles
)

var errJob = errors.New("the job has failed")

// A queue is the process that has the jobs. A worker asks for one, and reports its end. A worker
// that ends within a job has failed it: the queue monitors workers while they work.
type queue struct {
	waiting []*job
	idle    []process.PID
	running map[uint64]*job // by the tag of the monitor
	left    int
	retries int
	gaveUp  int
	result  chan<- string
}

func (q *queue) run(cx *sched.Context, self *process.Inbox[any]) error {
	for q.left > 0 {
		ev, err := self.ReceiveEvent(cx)
		switch {
		case err != nil:
			return err
		case ev.Type == process.EventCancel:
			return process.ErrCanceled
		case ev.Type == process.EventDown:
			q.retry(self, q.running[ev.Tag])
			delete(q.running, ev.Tag)
			continue
		}
		switch m := ev.Data.(type) {
		case next:
			q.idle = append(q.idle, m.worker)
		case *job: // a retry whose time has come
			q.waiting = append(q.waiting, m)
		case done:
			for tag, j := range q.running {
				if j == m.job {
					self.Demonitor(tag)
					delete(q.running, tag)
				}
			}
			q.left--
		}
		for len(q.idle) > 0 && len(q.waiting) > 0 {
			worker, j := q.idle[0], q.waiting[0]
			q.idle, q.waiting = q.idle[1:], q.waiting[1:]
			q.running[self.Monitor(worker)] = j
			_ = self.TrySend(worker, j) // if it has ended, the monitor tells
		}
	}
	q.result <- fmt.Sprintf("%d retries, %d jobs given up", q.retries, q.gaveUp)
	return nil
}

// retry gives a job that has failed another attempt, later.
func (q *queue) retry(self *process.Inbox[any], j *job) {
	if j.attempts++; j.attempts == mostAttempts {
		q.gaveUp++
		q.left--
		return
	}
	q.retries++
	self.System().SendAfter(firstDelay<<(j.attempts-1), self.PID(), j)
}

// worker asks for jobs until one fails, which ends it. Its supervisor starts it anew.
func worker(queue process.PID) func(cx *sched.Context, self *process.Inbox[*job]) error {
	return func(cx *sched.Context, self *process.Inbox[*job]) error {
		for {
			if err := self.TrySend(queue, next{self.PID()}); err != nil {
				return process.ErrCanceled // the queue has ended
			}
			j, err := self.Receive(cx)
			if err != nil {
				return err
			}
			if j.attempts < j.failures {
				return errJob
			}
			if err := self.TrySend(queue, done{j}); err != nil {
				return process.ErrCanceled
			}
		}
	}
}

// serve runs so many jobs, and returns the figures. A share of the jobs fails once or more.
func serve(jobs, workers, percent int) (string, error) {
	system := process.New(process.Config{Mailbox: -1})
	result := make(chan string, 1)
	q := &queue{running: map[uint64]*job{}, left: jobs, result: result}
	for n := range jobs {
		j := new(job)
		if n%100 < percent {
			j.failures = 1 + n%5
		}
		q.waiting = append(q.waiting, j)
	}
	ref, err := process.Go(system, process.Options{}, q.run)
	if err != nil {
		return "", err
	}
	start := func(at process.Starter, o process.Options) (process.PID, error) {
		w, err := process.Go(at, o, worker(ref.PID()))
		return w.PID(), err
	}
	top := process.Supervisor{Intensity: -1}
	for i := range workers {
		top.Children = append(top.Children, process.Child{Name: fmt.Sprint("worker ", i), Start: start, Restart: process.Transient})
	}
	if _, err := top.Start(system, process.Options{}); err != nil {
		return "", err
	}
	figures := <-result
	return figures, system.Shutdown(context.Background())
}

func main() {
	jobs := flag.Int("jobs", 10000, "how many `jobs` there are")
	workers := flag.Int("workers", 8, "how many `workers` do them")
	percent := flag.Int("fail", 5, "the share of jobs that fail at first, in `percent`")
	flag.Parse()
	began := time.Now()
	figures, err := serve(*jobs, *workers, *percent)
	if err != nil {
		fmt.Fprintln(os.Stderr, "jobs:", err)
		os.Exit(1)
	}
	fmt.Printf("%d jobs in %v: %s\n", *jobs, time.Since(began).Round(time.Millisecond), figures)
}

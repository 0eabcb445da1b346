package process_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A process that adds up numbers, and answers questions about the sum.
func ExampleGo() {
	system := process.New(process.Config{})
	defer system.Shutdown(context.Background())

	type sum = *process.Request[struct{}, int]
	adder, err := process.Go(system, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		total := 0
		for {
			message, err := self.Receive(cx)
			if err != nil {
				return err // canceled
			}
			switch m := message.(type) {
			case int:
				total += m
			case sum:
				m.Reply(total)
			}
		}
	})
	if err != nil {
		panic(err)
	}
	for i := range 5 {
		if err := adder.TrySend(i); err != nil { // a Ref[any]
			panic(err)
		}
	}
	total, err := process.Call[struct{}, int](context.Background(), system, adder.PID(), struct{}{})
	fmt.Println(total, err)
	// Output: 10 <nil>
}

// A job is a state machine that yields a command, and waits for its completion.
type job struct{ done chan<- string }

type fetch struct{ key string }

func (j *job) Init(_ context.Context, method string, input any) error { return nil }

func (j *job) Step(events []process.Event, out *process.StepOutput) error {
	out.Status = process.Blocked
	if len(events) == 0 {
		out.Yield(1, fetch{"answer"})
		return nil
	}
	for _, ev := range events {
		switch ev.Type {
		case process.EventYield:
			j.done <- fmt.Sprint(ev.Tag, ": ", ev.Data)
			out.Status = process.Complete
		case process.EventCancel:
			return process.ErrCanceled
		}
	}
	return nil
}

func (j *job) Close() {}

// A handler completes commands from a goroutine.
func ExampleOnCommand() {
	system := process.New(process.Config{})
	defer system.Shutdown(context.Background())

	process.OnCommand(system, func(pid process.PID, tag uint64, f fetch) {
		go func() { _ = system.CompleteYield(pid, tag, f.key+" is 42", nil) }()
	})
	done := make(chan string)
	if _, err := process.Start(system, &job{done}, process.Options{}); err != nil {
		panic(err)
	}
	fmt.Println(<-done)
	// Output: 1: answer is 42
}

// A worker that fails is restarted, until it succeeds.
func ExampleSupervisor() {
	system := process.New(process.Config{})
	defer system.Shutdown(context.Background())

	done := make(chan struct{})
	attempts := 0
	worker := func(at process.Starter, o process.Options) (process.PID, error) {
		attempts++ // the supervisor alone calls this
		attempt := attempts
		ref, err := process.Go(at, o, func(*sched.Context, *process.Inbox[any]) error {
			if attempt < 3 {
				return errors.New("no luck")
			}
			fmt.Println("attempt", attempt, "succeeds")
			close(done)
			return nil
		})
		return ref.PID(), err
	}
	supervisor, err := process.Supervisor{
		Strategy: process.OneForOne,
		BackOff:  time.Millisecond,
		Children: []process.Child{{Name: "worker", Start: worker, Restart: process.Transient}},
	}.Start(system, process.Options{})
	if err != nil {
		panic(err)
	}
	<-done
	fmt.Println(system.Cancel(supervisor))
	// Output:
	// attempt 3 succeeds
	// <nil>
}

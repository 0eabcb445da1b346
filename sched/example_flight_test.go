package sched_test

import (
	"bytes"
	"fmt"
	"runtime/trace"
	"sync"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// The first slow task saves what Go's flight recorder has of the seconds before. A process has one
// recorder, so the program starts it, and the hook only takes a snapshot.
func ExampleHooks_flightRecorder() {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 5 * time.Second})
	if err := recorder.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer recorder.Stop()
	var first sync.Once
	saved := make(chan struct{})
	rt := sched.New(sched.Config{Workers: 1, Hooks: sched.Hooks{SlowTask: func(sched.SlowTask) {
		first.Do(func() {
			var snapshot bytes.Buffer // a file, in a program
			_, err := recorder.WriteTo(&snapshot)
			fmt.Println("saved:", err == nil && snapshot.Len() > 0)
			close(saved)
		})
	}}})
	defer rt.Close()
	sched.Go(rt, func(*sched.Context) (struct{}, error) {
		<-saved // it blocks its worker
		return struct{}{}, nil
	})
	<-saved
	// Output: saved: true
}

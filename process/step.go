package process

import (
	"context"

	"github.com/suiro-go/suiro/internal/mpsc"
)

// A Process is a state machine that the scheduler advances. All methods are called by one worker
// at a time, and must not block. A panic ends the process, with the panic as its reason.
type Process interface {
	// Init prepares the process, in its first run. method says which of the process's entry points
	// to use, input is its argument. FromContext gives the process's Self, which is valid until
	// Close. ctx ends with the process, or when that is canceled or killed. An error ends the
	// process.
	Init(ctx context.Context, method string, input any) error

	// Step advances the process. events are those since the last call, possibly none: first the
	// completions of yields, then the others, both in the order of each sender. A call gets at most
	// 128 events. They are valid until Step returns. Step writes its status and its yields to out.
	// An error ends the process with that reason.
	Step(events []Event, out *StepOutput) error

	// Close releases resources. It is the last call, and follows each Init, even one that failed.
	Close()
}

// A Status is the state of a process.
type Status uint8

const (
	// Ready means: the process is queued for a worker, or wants to be.
	Ready Status = iota
	// Running means: a worker runs Step, or the function.
	Running
	// Blocked means: the process waits for the completion of a yield, or a function for something
	// else than a message. Messages stay in the mailbox until then. Cancel events, and the ends of
	// other processes, do not.
	Blocked
	// Idle means: the process waits for messages.
	Idle
	// Complete means: the process has ended.
	Complete
)

var statusOf = [...]Status{mpsc.Ready: Ready, mpsc.Running: Running, mpsc.Blocked: Blocked, mpsc.Idle: Idle, mpsc.Complete: Complete}

// String is the name of the status.
func (s Status) String() string {
	return [...]string{"ready", "running", "blocked", "idle", "complete"}[s]
}

// A StepOutput is the result of a Step.
type StepOutput struct {
	// Status is Ready, Blocked, Idle or Complete. Ready: Step is called again soon, after other
	// tasks. Blocked: once there is an event that is no message, such as the completion of a yield.
	// Idle: once there is any event. Complete: never.
	Status Status

	yields []yield
}

type yield struct {
	tag     uint64
	command any
}

// Yield gives a command to its handler (see OnCommand) after Step has returned, even with an error.
// The completion arrives as an EventYield with that tag. A process that yields is usually Blocked
// then, but may go on: it may yield any number of commands.
func (o *StepOutput) Yield(tag uint64, command any) {
	o.yields = append(o.yields, yield{tag, command})
}

var phaseOf = [...]mpsc.Phase{Ready: mpsc.Ready, Running: mpsc.Running, Blocked: mpsc.Blocked, Idle: mpsc.Idle, Complete: mpsc.Complete}

// Package process runs processes: tasks of package sched with an address, a mailbox and a
// supervisor. Processes share nothing and send each other messages. Chat rooms, game sessions,
// device twins and jobs are such processes.
//
//	system := process.New(process.Config{})
//	room, err := process.Go(system, process.Options{}, serve)
//	err = room.Send(ctx, "hello")
//	...
//	func serve(cx *sched.Context, self *process.Inbox[string]) error {
//		for {
//			line, err := self.Receive(cx)
//			if err != nil {
//				return err
//			}
//			...
//		}
//	}
//
// A process is a plain function ([Go]) or a state machine ([Process], started by [Start]). A
// function runs on a coroutine, as tasks of sched.Go do, and costs its stack while it waits. A
// state machine that is idle costs some 300 bytes.
//
// # States
//
//	Submit ──► Ready ──► Running ──► Complete
//	             ▲          │
//	             │          ├── waits for an answer ──► Blocked ──┐ CompleteYield
//	             │          └── waits for messages ───► Idle ─────┤ Send
//	             └────────────────────────────────────────────────┘
//
// A worker runs a process that is [Ready]. The process is [Blocked] while it waits for the
// completion of a command that it has yielded (see [OnCommand]), and [Idle] while it waits for
// messages. An answer or a message that arrives while the process runs sets a wake-up flag, and
// the process runs again. Messages do not wake a blocked process: it gets them with the answer.
//
// # Messages
//
// [System.Send] puts a message into a mailbox, and never copies it. Messages of one sender arrive
// in their order. A mailbox has a limit; [Overflow] is the policy at the limit. Delivery is at
// most once: a process that ends does not receive the rest of its mailbox (see Config.Dropped).
// [Call] waits for an answer. [System.SendAfter] sends later. [Inbox.ReceiveMatch] receives
// selectively. Names ([System.Register]) and groups ([System.Publish]) find processes.
//
// # Ends
//
// A process ends when its function returns or its Step reports it, with an error as the reason; by
// a panic; or by [System.Kill]. Linked processes end together ([Self.Link]), monitors are told
// ([Self.Monitor]), and a [Supervisor] restarts its children. [System.Shutdown] sends all processes
// a cancel event, and kills those that have not ended after a grace period.
//
// # Costs
//
// A process is one [sched.Task]. There is no other scheduler: it runs on the runtime's workers,
// beside connections and other tasks, and idle workers steal it. Sending takes two atomic writes
// and no lock, except with OverflowDropOldest. It wakes a process only if its mailbox was empty. A
// Step gets up to 128 events at a time. The memory of messages' nodes is pooled.
package process

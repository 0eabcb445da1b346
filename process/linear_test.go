package process_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// An operation on one name, and on one group. Its process is a number.
type operation struct {
	kind    string
	process int
}

// A result is that of an operation: ok, a process (-1: none), or the members.
type result struct {
	ok      bool
	process int
	members string
}

// A state is that of one name and one group: the owner, the members, and which processes have
// ended.
type state struct {
	owner   int // -1: nobody
	members string
	ended   string
}

func member(set string, p int) bool { return strings.Contains(set, fmt.Sprint(p)) }

func with(set string, p int) string {
	if member(set, p) {
		return set
	}
	all := strings.Split(set+fmt.Sprint(p), "")
	slices.Sort(all)
	return strings.Join(all, "")
}

func without(set string, p int) string { return strings.ReplaceAll(set, fmt.Sprint(p), "") }

// registry is the sequential behavior. An end frees the name and leaves the group. Those two happen
// one after the other, so a model of one of them at a time is checked.
var registry = porcupine.Model{
	Init: func() any { return state{owner: -1} },
	Step: func(before, input, output any) (bool, any) {
		s, op, r := before.(state), input.(operation), output.(result)
		gone := member(s.ended, op.process)
		switch op.kind {
		case "register":
			ok := !gone && (s.owner == -1 || s.owner == op.process)
			if ok {
				s.owner = op.process
			}
			return r.ok == ok, s
		case "unregister":
			had := s.owner != -1
			s.owner = -1
			return r.ok == had, s
		case "whereis":
			return r.process == s.owner, s
		case "join":
			if !gone {
				s.members = with(s.members, op.process)
			}
			return r.ok == !gone, s
		case "leave":
			was := member(s.members, op.process)
			s.members = without(s.members, op.process)
			return r.ok == was, s
		case "members":
			return r.members == s.members, s
		default: // end
			if s.owner == op.process {
				s.owner = -1
			}
			s.ended, s.members = with(s.ended, op.process), without(s.members, op.process)
			return true, s
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

func TestNamesAndGroupsAreLinearizable(t *testing.T) {
	for name, kinds := range map[string][]string{
		"a name":  {"register", "register", "unregister", "whereis", "whereis"},
		"a group": {"join", "join", "leave", "members", "members"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *process.System) {
				for range rounds(200) {
					history := record(t, s, kinds)
					require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(registry, history, patience.Limit), "%+v", history)
				}
			})
		})
	}
}

// record makes goroutines call random operations. One more goroutine ends a process.
func record(t *testing.T, s *process.System, kinds []string) (history []porcupine.Operation) {
	const processes, clients, calls = 3, 3, 8
	var pids []process.PID
	for range processes {
		pids = append(pids, spawn(t, s, waits))
	}
	began := time.Now()
	var mu sync.Mutex
	note := func(client int, op operation, call func() result) {
		from := time.Since(began)
		r := call()
		to := time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		history = append(history, porcupine.Operation{ClientId: client, Input: op, Output: r, Call: int64(from), Return: int64(to)})
	}
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for range calls {
				op := operation{kinds[rand.IntN(len(kinds))], rand.IntN(processes)}
				note(client, op, func() result { return perform(s, op, pids) })
			}
		})
	}
	wg.Go(func() {
		note(clients, operation{"end", 0}, func() result {
			down := make(chan struct{})
			spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
				defer close(down)
				self.Monitor(pids[0])
				_ = s.Kill(pids[0])
				_, err := self.ReceiveEvent(cx)
				return err
			})
			<-down
			return result{}
		})
	})
	wg.Wait()
	for _, pid := range pids {
		_ = s.Kill(pid)
	}
	eventually(t, "all have ended", func() bool { return s.Len() == 0 })
	return history
}

func perform(s *process.System, op operation, pids []process.PID) (r result) {
	switch pid := pids[op.process]; op.kind {
	case "register":
		r.ok = s.Register("name", pid) == nil
	case "unregister":
		r.ok = s.Unregister("name")
	case "whereis":
		owner, _ := s.Whereis("name")
		r.process = slices.Index(pids, owner)
	case "join":
		r.ok = s.JoinGroup("group", pid) == nil
	case "leave":
		r.ok = s.LeaveGroup("group", pid)
	case "members":
		for _, m := range s.Members("group") {
			r.members = with(r.members, slices.Index(pids, m))
		}
	}
	return r
}

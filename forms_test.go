package suiro_test

import (
	"context"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
	"github.com/suiro-go/suiro/syncx"
)

// waiting are the types with methods that wait, each beside a future. The value names the methods
// that take a context and do not follow the scheme, with the reason.
var waiting = map[reflect.Type]map[string]string{
	reflect.TypeFor[*server.Dialer](): {
		"DialContext":    "has the name of http.Transport's field",
		"DialTLSContext": "has the name of http.Transport's field",
	},
	reflect.TypeFor[*server.Pool]():           ends,
	reflect.TypeFor[*server.StreamListener](): nil,
	reflect.TypeFor[*server.UnixListener]():   nil,
	reflect.TypeFor[*conn.Group](): {
		"DialSocketContext": "is of goroutines alone", "Shutdown": ends["Shutdown"],
		"ShutdownServed": ends["Shutdown"], "Stop": ends["Shutdown"], "Wait": ends["Shutdown"],
	},
	reflect.TypeFor[*conn.SocketListener](): {"AcceptContext": "beside Accept of net.Listener, which takes no context"},
	reflect.TypeFor[*conn.UnixListener]():   nil,
	reflect.TypeFor[*conn.UnixStream]():     nil,
	reflect.TypeFor[*packet.UDPSocket]():    nil,
	reflect.TypeFor[*packet.UnixDatagram](): nil,
	reflect.TypeFor[*packet.Peer]():         nil,

	reflect.TypeFor[*syncx.Barrier]():       nil,
	reflect.TypeFor[*syncx.Mutex]():         nil,
	reflect.TypeFor[*syncx.Notify]():        nil,
	reflect.TypeFor[*syncx.RWMutex]():       nil,
	reflect.TypeFor[*syncx.Semaphore]():     nil,
	reflect.TypeFor[*syncx.OnceCell[int]](): nil,

	reflect.TypeFor[*chanx.Sender[int]]():            nil,
	reflect.TypeFor[*chanx.Receiver[int]]():          nil,
	reflect.TypeFor[*chanx.UnboundedSender[int]]():   neverWaits,
	reflect.TypeFor[*chanx.UnboundedReceiver[int]](): nil,
	reflect.TypeFor[*chanx.OneshotSender[int]]():     neverWaits,
	reflect.TypeFor[*chanx.OneshotReceiver[int]]():   nil,
	reflect.TypeFor[*chanx.BroadcastSender[int]]():   neverWaits,
	reflect.TypeFor[*chanx.BroadcastReceiver[int]](): nil,
	reflect.TypeFor[*chanx.WatchSender[int]]():       neverWaits,
	reflect.TypeFor[*chanx.WatchReceiver[int]]():     nil,

	reflect.TypeFor[*process.System](): {
		"Deliver": "is for a Remote, which runs it on goroutines", "Shutdown": ends["Shutdown"],
	},
	reflect.TypeFor[*process.Ref[int]]():   nil,
	reflect.TypeFor[*process.Inbox[int]](): nil,
}

var ends = map[string]string{"Shutdown": "ends workers, so no task may wait for it"}

var neverWaits = map[string]string{"Send": "never waits: ctx makes the wake-up cheap", "Modify": "never waits"}

// Package syncx declares the scheme: X(ctx) for tasks and goroutines, XFuture for polls, TryX for a
// call that never waits. Methods of a Stream take no context, because a Stream is bound to a
// function; see the next test.
func TestWaitsHaveTheFormsOfSyncx(t *testing.T) {
	count := 0
	for typ, exempt := range waiting {
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			form, base := formOf(m)
			if form == "" || exempt[m.Name] != "" {
				continue
			}
			count++
			assert.NotEqual(t, "task", form, "%v.%s takes a context of tasks alone", typ, m.Name)
			assert.False(t, strings.HasSuffix(m.Name, "Context"), "%v.%s: the name of a second form", typ, m.Name)
			for suffix, is := range map[string]string{"": "wait", "Future": "future"} {
				other, ok := typ.MethodByName(base + suffix)
				if !assert.True(t, ok, "%v has %s and no %s", typ, m.Name, base+suffix) {
					continue
				}
				if typ == reflect.TypeFor[*conn.SocketListener]() && other.Name == "Accept" {
					continue
				}
				got, _ := formOf(other)
				assert.Equal(t, is, got, "the form of %v.%s", typ, other.Name)
			}
		}
	}
	assert.Greater(t, count, 80, "methods were looked at")
}

// formOf returns the form that a method's signature shows, and the name without the form's suffix.
// The form is "" for a method that does not wait.
func formOf(m reflect.Method) (form, base string) {
	typ := m.Type
	if typ.NumOut() == 1 && strings.HasSuffix(m.Name, "Future") {
		if _, polls := typ.Out(0).MethodByName("Poll"); polls {
			return "future", strings.TrimSuffix(m.Name, "Future")
		}
	}
	if typ.NumIn() < 2 || typ.NumOut() == 0 || typ.Out(typ.NumOut()-1) != reflect.TypeFor[error]() {
		return "", ""
	}
	switch typ.In(1) {
	case reflect.TypeFor[context.Context]():
		return "wait", m.Name
	case reflect.TypeFor[*sched.Context]():
		return "task", m.Name
	}
	return "", ""
}

// A Stream's Read and Write wait in the function that the Stream is bound to. They have TryX forms.
// The futures of its events are named for the events.
func TestAStreamsWaitsHaveFuturesAndTries(t *testing.T) {
	typ := reflect.TypeFor[*conn.Stream]()
	for _, name := range []string{"Read", "Write", "TryRead", "TryWrite"} {
		m, ok := typ.MethodByName(name)
		assert.True(t, ok && m.Type.NumIn() == 2, "%s takes bytes alone", name)
	}
	future := reflect.TypeFor[sched.Future[struct{}]]()
	for _, name := range []string{"Readable", "Writable", "Closed", "Draining"} {
		m, ok := typ.MethodByName(name)
		assert.True(t, ok && m.Type.NumOut() == 1 && m.Type.Out(0) == future, "%s is a future", name)
	}
}

// withSent are the methods whose futures have a type of their own: its Sent says how much an
// abandoned one has sent.
var withSent = []string{"SendFilesFuture", "SendBatchFuture"}

// A sched.Future lets Go infer the type argument of a combinator, and keeps types out of the API.
func TestFuturesOfConnectionsAreInterfaces(t *testing.T) {
	types := []reflect.Type{reflect.TypeFor[*sched.DelayQueue[int]]()}
	for typ := range waiting {
		switch path.Base(typ.Elem().PkgPath()) {
		case "conn", "packet", "server":
			types = append(types, typ)
		}
	}
	count := 0
	for _, typ := range types {
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			if form, _ := formOf(m); form != "future" || slices.Contains(withSent, m.Name) {
				continue
			}
			count++
			assert.True(t, strings.HasPrefix(m.Type.Out(0).String(), "sched.Future["), "%v.%s returns %v", typ, m.Name, m.Type.Out(0))
		}
	}
	assert.Greater(t, count, 20, "methods were looked at")
}

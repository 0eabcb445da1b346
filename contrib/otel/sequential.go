package otel

import (
	"context"
	"errors"
	"reflect"
	"runtime"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// errUnwound is the error of a function that has panicked or called runtime.Goexit. The span of the
// connection has the panic itself.
var errUnwound = errors.New("the function has panicked or called runtime.Goexit")

// Sequential is server.Sequential within Handler, with a second span for the call of fn, a child of
// the connection's. It has the name of fn, the kind internal, and the error that fn returns. fn's
// context is derived from that of its task, and has that span:
//
//	rows, err := db.QueryContext(ctx, query) // its span is a child of fn's
//
// sched.FromContext(ctx) is fn's *sched.Context.
func (t *Tracer) Sequential(fn func(ctx context.Context, s *server.Stream) error) server.Handler {
	name := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	return &traced{sequential{server.Sequential(func(cx *sched.Context, s *server.Stream) error {
		ctx, span := t.tracer.Start(t.ConnContext(cx, s.Handle()), name, trace.WithAttributes(attribute.String("code.function.name", name)))
		err := errUnwound
		defer func() { end(span, err) }()
		err = fn(ctx, s)
		return err
	}), name}, t}
}

// sequential names the user's function in the log, not the one around it.
type sequential struct {
	server.Handler
	name string
}

func (h sequential) Unwrap() server.Handler { return h.Handler }

func (h sequential) HandlerName() string { return h.name }

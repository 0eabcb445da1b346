package conn_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// The functions that a report must name. Each waits for good.

func readForEver(_ *sched.Context, s *conn.Stream) error {
	_, err := s.Read(make([]byte, 1))
	return err
}

func awaitForEver(cx *sched.Context, _ *conn.Stream) error { return sleep(cx, time.Hour) }

func joinForEver(cx *sched.Context, s *conn.Stream) error {
	return s.Go(func(*sched.Context) error { return readForEver(nil, s) }).Join(cx)
}

// A report names the calls in which sequential handlers wait, and the handlers, not what conn has
// around them.
func TestADumpNamesWhatSequentialHandlersWaitIn(t *testing.T) {
	for name, test := range map[string]struct {
		fn   func(*sched.Context, *conn.Stream) error
		want []string
	}{
		"Read":  {readForEver, []string{`conn\.\(\*Stream\)\.Read, in conn_test\.readForEver`}},
		"Await": {awaitForEver, []string{`conn_test\.sleep, in conn_test\.awaitForEver`}},
		"Go": {joinForEver, []string{
			`conn\.\(\*Branch\)\.Join, in conn_test\.joinForEver`,
			`conn\.\(\*Stream\)\.Read, in conn_test\.joinForEver\.func1`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				f := sequential(t, backend, 1, test.fn)
				defer f.dial().Close()
				for _, want := range test.want {
					line := regexp.MustCompile(`(?m)^ +1  ` + want + `$`)
					conntest.Eventually(t, func() bool { return line.MatchString(f.report()) }, f.report)
				}
			})
		})
	}
}

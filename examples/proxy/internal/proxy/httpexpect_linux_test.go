package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

const expecting = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"

// A client that waits for 100 (Continue) is pending, whether or not it sends its body in the end.
func TestAnUpstreamThatNeverSaysContinueIsA504(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		for _, limits := range []string{"reply_timeout = '300ms'\nidle_timeout = '1h'", "reply_timeout = '500ms'\nidle_timeout = '100ms'"} {
			f := start(t, backend, httpText(o.Addr(), limits))
			for _, body := range []string{"", "body"} {
				c := f.dial()
				_, err := io.WriteString(c, expecting+body)
				require.NoError(t, err)
				res, err := http.ReadResponse(bufio.NewReader(c), nil)
				require.NoError(t, err)
				require.Equal(t, http.StatusGatewayTimeout, res.StatusCode, "%s, body %q", limits, body)
			}
		}
	})
}

// Once it has been told to continue, a client has no more time than others have.
func TestAClientThatIsToldToContinueMustSendItsBody(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 200*time.Millisecond, func(limit time.Duration, alive func()) error {
			f, _ := behindHTTP(t, backend, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) },
				"header_timeout = '"+limit.String()+"'\nidle_timeout = '1h'")
			c := f.dial()
			if _, err := io.WriteString(c, expecting); err != nil {
				return err
			}
			alive()
			in := bufio.NewReader(c)
			if err := answered(in, http.StatusContinue); err != nil {
				return err
			}
			alive()
			return answeredLate(in, http.StatusRequestTimeout, limit, alive)
		})
	})
}

// answered reads an answer. It returns an error unless that has the status.
func answered(in *bufio.Reader, status int) error {
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	if res.StatusCode != status {
		return fmt.Errorf("answered %s, not %d", res.Status, status)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// The time for the answer begins with the end of a body that is sent although nobody asked for it.
func TestABodyThatIsSentUnaskedMayTakeLongerThanAnAnswer(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", func(c net.Conn) {
			in := bufio.NewReader(c)
			if r, err := http.ReadRequest(in); err == nil {
				_, _ = io.ReadFull(in, make([]byte, r.ContentLength))
				_, _ = io.WriteString(c, fine)
			}
		})
		conntest.Punctual(t, 200*time.Millisecond, func(reply time.Duration, alive func()) error {
			f := start(t, backend, httpText(o.Addr(), "reply_timeout = '"+reply.String()+"'"))
			c := f.dial()
			if _, err := io.WriteString(c, expecting+"b"); err != nil {
				return err
			}
			conntest.Rest(reply+reply/4, reply, alive)
			if _, err := io.WriteString(c, "ody"); err != nil {
				return err
			}
			return answered(bufio.NewReader(c), http.StatusOK)
		})
	})
}

// An upstream that does not take a request in time is silent, and has not ended.
func TestAnUpstreamThatDoesNotTakeARequestInTimeIsA504(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := behindHTTP(t, backend, func(http.ResponseWriter, *http.Request) {}, "reply_timeout = '1ns'")
		res, err := browser(t).Get("http://" + f.addr())
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusGatewayTimeout, res.StatusCode)
	})
}

package natscluster

import (
	"errors"
	"fmt"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

var (
	// ErrNodeLost says that a node has sent no heartbeat for Config.Lost, or has left. It matches
	// process.ErrNoProcess.
	ErrNodeLost = fmt.Errorf("natscluster: node is lost: %w", process.ErrNoProcess)

	// ErrUnknownType says that a message's type is not registered in Config.Types.
	ErrUnknownType = errors.New("natscluster: type of the message is not registered")

	// ErrTooLarge says that an encoded message is larger than one NATS message may be: the server's
	// max_payload, which is 1 MiB by default.
	ErrTooLarge = errors.New("natscluster: message is too large")

	// ErrClosed says that the node has left the cluster.
	ErrClosed = errors.New("natscluster: closed")
)

// A RemoteError is an error of another node: the reason of a process, or the failure of a request.
// Errors of this package and of package process, and sched.ErrTimeout, arrive as themselves. Text
// has at most 4 KiB; the rest is cut.
type RemoteError struct {
	Text string
	is   error // of wellKnown
}

// Error is the text that the error had at the other node.
func (e *RemoteError) Error() string { return e.Text }

// Unwrap is the error that it wrapped there, if that is one that arrives as itself.
func (e *RemoteError) Unwrap() error { return e.is }

// wellKnown are the errors that arrive as themselves. Their places are part of the protocol.
var wellKnown = []error{
	nil, process.ErrNoProcess, process.ErrMailboxFull, process.ErrCanceled, process.ErrKilled,
	process.ErrShutdown, process.ErrWrongType, sched.ErrTimeout, ErrUnknownType, ErrTooLarge,
	process.ErrNameTaken, process.ErrNoHandler, ErrNodeLost,
}

const (
	otherError   = 255
	maxErrorText = 4 << 10 // bytes of a text; the rest is cut
)

// encodeError encodes an error: its place in wellKnown, or otherError, the place of the one that it
// wraps, and its text. Later ones are more exact.
func encodeError(err error) []byte {
	for i, known := range wellKnown {
		if err == known {
			return []byte{byte(i)}
		}
	}
	wrapped := len(wellKnown) - 1
	for wrapped > 0 && !errors.Is(err, wellKnown[wrapped]) {
		wrapped--
	}
	text := err.Error()
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return append([]byte{otherError, byte(wrapped)}, text...)
}

// decodeError decodes the rest of an entry.
func decodeError(b []byte) error {
	switch {
	case len(b) == 0:
		return errMalformed
	case b[0] == otherError:
		if len(b) < 2 {
			return errMalformed
		}
		e := &RemoteError{Text: string(b[2:])}
		if int(b[1]) < len(wellKnown) { // else of a later version
			e.is = wellKnown[b[1]]
		}
		return e
	case int(b[0]) < len(wellKnown):
		return wellKnown[b[0]]
	}
	return &RemoteError{Text: "natscluster: an error of a later version"}
}

var errMalformed = errors.New("natscluster: malformed frame")

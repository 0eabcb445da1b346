package engine

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/suiro-go/suiro/sched"
)

// An Ending says how a connection has ended: the label error.type.
type Ending uint8

// The endings, with their names.
const (
	InOrder Ending = iota // no label
	OtherError
	AbortedHere
	ResetByPeer
	TimedOut
	ShedForMemory
	Panicked
	Truncated
	RefusedByPeer
	endings
)

// EndingNames are the values of the label for endings. OpenTelemetry prescribes _OTHER.
var EndingNames = [endings]string{"", "_OTHER", "aborted", "reset", "timeout", "shed", "panic", "truncated", "refused"}

// ErrShed is conn.ErrShed.
var ErrShed = errors.New("conn: shed: the connections' buffers had reached MaxMemory, and this one had the most")

// EndingOf classifies the cause of a connection's end. nil: it was closed in order.
func EndingOf(cause error) Ending {
	var p *sched.PanicError
	switch {
	case cause == nil:
		return InOrder
	case errors.Is(cause, ErrAborted):
		return AbortedHere
	case errors.Is(cause, ErrShed):
		return ShedForMemory
	case errors.As(cause, &p) || errors.Is(cause, sched.ErrGoexit):
		return Panicked
	case errors.Is(cause, os.ErrDeadlineExceeded) || errors.Is(cause, syscall.ETIMEDOUT):
		return TimedOut
	case errors.Is(cause, syscall.ECONNRESET) || errors.Is(cause, syscall.EPIPE) || errors.Is(cause, syscall.ECONNABORTED):
		return ResetByPeer
	case errors.Is(cause, syscall.ECONNREFUSED):
		return RefusedByPeer
	case errors.Is(cause, io.ErrUnexpectedEOF):
		return Truncated
	}
	return OtherError
}

// A Failure says how a TLS handshake has ended: the label error.type.
type Failure uint8

// The failures, with their names.
const (
	Shaken Failure = iota // no label
	OtherFailure
	HandshakeTimedOut
	PeerLeft
	Alerted
	NotTLS
	BadCertificate
	HandshakeClosed
	failures
)

// FailureNames are the values of the label for failures.
var FailureNames = [failures]string{"", "_OTHER", "timeout", "peer_closed", "alert", "not_tls", "certificate", "closed"}

// FailureOf classifies the error of a handshake. nil: it is complete.
func FailureOf(err error) Failure {
	var (
		alert   tls.AlertError
		header  tls.RecordHeaderError
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		op      *net.OpError
	)
	switch {
	case err == nil:
		return Shaken
	case errors.Is(err, os.ErrDeadlineExceeded):
		return HandshakeTimedOut
	case errors.As(err, &header):
		return NotTLS
	case errors.As(err, &verify) || errors.As(err, &unknown):
		return BadCertificate
	case errors.As(err, &alert) || errors.As(err, &op) && isRemoteError(op):
		return Alerted
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE):
		return PeerLeft
	case errors.Is(err, net.ErrClosed):
		return HandshakeClosed
	}
	return OtherFailure
}

// isRemoteError reports whether crypto/tls tells of an alert of the peer, somewhere in the chain.
func isRemoteError(op *net.OpError) bool {
	for op != nil {
		if op.Op == "remote error" {
			return true
		}
		var inner *net.OpError
		if !errors.As(op.Err, &inner) {
			return false
		}
		op = inner
	}
	return false
}

package deadlines

import (
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
)

// MaxDropped is how many bytes that arrive after Close are dropped: as many as an honest peer may
// have sent before it sees the end. More would only waste what both ends have. The reset that
// follows waits until the peer has acknowledged all that was written.
const MaxDropped = 2 << 20

// DrainLinger is how long a draining group waits for a peer that has acknowledged everything and
// sends nothing. It is shorter than the usual time, since an idle peer may never close its end.
const DrainLinger = 100 * time.Millisecond

// firstLook is when a connection that ends by a reset first looks again whether the peer has
// acknowledged everything. Each next wait is twice as long.
const firstLook = time.Millisecond

// Linger starts a period of waiting for the peer.
func (k *Clock) Linger(now, d time.Duration) {
	k.at[Linger], k.farewell = saturate.Add(now, d), 0
}

// Parting notes how far the output is when lingering begins.
func (k *Clock) Parting(flow Outflow) { k.parting = flow }

// Lingers reports whether a period has been started that is not over.
func (k *Clock) Lingers() bool { return k.at[Linger] != 0 }

// Shorten ends the period early, to look whether the peer has taken everything. The end that the
// period had before remains the last one.
func (k *Clock) Shorten(now time.Duration) {
	if k.farewell == 0 {
		k.farewell = k.at[Linger]
	}
	k.heard = k.dropped
	k.at[Linger] = min(k.farewell, now+DrainLinger)
}

// A Verdict is the meaning of the end of a period of lingering.
type Verdict uint8

const (
	Wait    Verdict = iota // the period goes on
	Another                // another period begins
	Over                   // the connection is over
	Cut                    // the connection is over, and the peer is reset
	TooSlow                // the peer is reset, since it did not take all that was written
)

// Lingered judges, when Linger is due. Another period begins if the peer has taken some of the
// output. A peer that took everything but does not end its side has cost enough: the connection is
// closed, and the kernel goes on to deliver. That does not hold for one that ends by a reset.
// finished: the end of the output was sent.
func (k *Clock) Lingered(now time.Duration, finished bool, flow Outflow) Verdict {
	k.at[Linger] = 0
	switch {
	case now < k.farewell && finished && (k.EndsByReset() || !k.silent(flow)):
		k.Shorten(now)
		return Wait
	case finished && !k.EndsByReset():
		return Over
	case flow.MovedSince(k.parting):
		return Another
	case finished:
		return Cut
	default:
		return TooSlow
	}
}

// silent reports whether the peer has acknowledged everything and has sent nothing since Shorten.
// Then closing the descriptor cannot cost it anything. Where the system does not report
// acknowledgements, silence must do.
func (k *Clock) silent(flow Outflow) bool { return k.dropped == k.heard && flow.Kept == 0 }

// Drop counts bytes that arrived after Close. It reports whether they are more than MaxDropped.
// Nothing more is received then, so that the kernel's flow control holds the peer back, and the
// connection ends by a reset, as after ResetAtEnd.
func (k *Clock) Drop(n int) bool {
	k.dropped += n
	return k.dropped > MaxDropped
}

// ResetAtEnd makes the connection end by a reset when the peer has acknowledged all that was
// written, since a reset discards the rest. No event tells when that is, so the connection looks
// from time to time.
func (k *Clock) ResetAtEnd() { k.resets = true }

// Resets reports whether ResetAtEnd was called.
func (k *Clock) Resets() bool { return k.resets }

// EndsByReset reports whether ResetAtEnd was called, or the peer has sent too much.
func (k *Clock) EndsByReset() bool { return k.resets || k.dropped > MaxDropped }

// LookDue reports whether a connection that ends by a reset has to look now. If the look does not
// end it, LookLater sets the time of the next look.
func (k *Clock) LookDue() bool { return k.at[Look] == 0 }

// LookLater makes the connection look again.
func (k *Clock) LookLater(now time.Duration) {
	k.pause = max(firstLook, 2*k.pause)
	k.at[Look] = saturate.Add(now, k.pause)
}

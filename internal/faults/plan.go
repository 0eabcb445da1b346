package faults

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// A Rule is one fault that befalls calls of one kind.
type Rule struct {
	Call  Call
	Errno syscall.Errno // what they return; 0: they are made for less than was asked

	Every int     // each so many-th call of the kind; 0: see Odds
	Odds  float64 // of one call, from 0 to 1; not 1 where the call is tried again until it succeeds
	Most  int     // so many and no more; 0: no limit
}

func (r Rule) String() string {
	what := "short"
	if r.Errno != 0 {
		what = r.Errno.Error()
	}
	return r.Call.String() + ": " + what
}

// A Plan is a schedule of faults. The zero value has none. Any goroutine.
type Plan struct {
	seed  uint64
	rules [calls][]*counted
	made  [calls]atomic.Uint64
	over  atomic.Bool

	mu      sync.Mutex
	renews  map[int]func(fd int) // by number; guarded by mu
	renewed int                  // the last number
}

type counted struct {
	Rule
	salt uint64
	left atomic.Int64 // of Most
	done atomic.Int64
}

// New makes a plan. Where several rules apply to a call, the first one counts.
func New(seed uint64, rules ...Rule) *Plan {
	p := &Plan{seed: seed}
	for i, r := range rules {
		c := &counted{Rule: r, salt: mix(seed + uint64(i))}
		c.left.Store(int64(r.Most))
		p.rules[r.Call] = append(p.rules[r.Call], c)
	}
	return p
}

// Next is asked before a call is made for n bytes, messages or whatever it counts;
// n is 1 where there is nothing to count. It returns how many to ask for, from 1 to
// n, and 0; or the errno that the call is to return without having been made.
func (p *Plan) Next(call Call, n int) (int, syscall.Errno) {
	rules := p.rules[call]
	if len(rules) == 0 || p.over.Load() {
		return n, 0
	}
	nth := p.made[call].Add(1)
	for _, r := range rules {
		dice := mix(r.salt ^ nth)
		if r.Errno == 0 && n < 2 || !r.strikes(nth, dice) || !r.take() {
			continue
		}
		if r.Errno != 0 {
			return 0, r.Errno
		}
		return 1 + int(mix(dice)%uint64(n-1)), 0
	}
	return n, 0
}

func (r *counted) strikes(nth, dice uint64) bool {
	if r.Every > 0 {
		return nth%uint64(r.Every) == 0
	}
	return float64(dice>>11) < r.Odds*(1<<53)
}

func (r *counted) take() bool {
	if r.Most > 0 && r.left.Add(-1) < 0 {
		return false
	}
	r.done.Add(1)
	return true
}

// OnRenew has f called by Renew, until done is called.
func (p *Plan) OnRenew(f func(fd int)) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.renews == nil {
		p.renews = map[int]func(int){}
	}
	p.renewed++
	n := p.renewed
	p.renews[n] = f
	return func() {
		p.mu.Lock()
		delete(p.renews, n)
		p.mu.Unlock()
	}
}

// Renew says that a call on a descriptor has returned EAGAIN as planned, or was made for less. Its
// caller may wait for an edge now, which the kernel does not make.
func (p *Plan) Renew(fd int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.renews {
		f(fd)
	}
}

// Stop ends the faults.
func (p *Plan) Stop() { p.over.Store(true) }

// Injected is how many faults of a kind of call there have been with that errno, 0
// being the short ones.
func (p *Plan) Injected(call Call, errno syscall.Errno) (n int) {
	for _, r := range p.rules[call] {
		if r.Errno == errno {
			n += int(r.done.Load())
		}
	}
	return n
}

// Made is how many calls of a kind there have been, if the plan has a rule for it.
func (p *Plan) Made(call Call) int { return int(p.made[call].Load()) }

// Total is how many faults there have been.
func (p *Plan) Total() (n int) {
	for _, rules := range p.rules {
		for _, r := range rules {
			n += int(r.done.Load())
		}
	}
	return n
}

// String is the seed, and each rule with how often it struck.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "faults with seed %d:", p.seed)
	for call, rules := range p.rules {
		for _, r := range rules {
			fmt.Fprintf(&b, " [%v, %d times in %d calls]", r.Rule, r.done.Load(), p.made[call].Load())
		}
	}
	return b.String()
}

// mix is the finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): every bit
// of x changes about half of the result's.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

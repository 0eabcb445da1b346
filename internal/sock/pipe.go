package sock

import "sync"

// A Pipe is one of the kernel's, for splice(2).
type Pipe struct{ R, W, Size int }

func (p *Pipe) close() {
	Close(p.R)
	Close(p.W)
}

// Pipes keeps empty pipes, and bounds their number: each costs two descriptors. A caller that gets
// none copies the bytes.
type Pipes struct {
	mu   sync.Mutex
	idle []*Pipe
	made int
	Most int // how many there may be, idle or not
}

const (
	// PipeSize is what a pipe has room for, unless the system grants less.
	PipeSize  = 1 << 20 // as much as an unprivileged process may ask for
	keepPipes = 8
)

// Get is an empty pipe, or nil.
func (pp *Pipes) Get() *Pipe {
	pp.mu.Lock()
	if n := len(pp.idle); n > 0 {
		p := pp.idle[n-1]
		pp.idle = pp.idle[:n-1]
		pp.mu.Unlock()
		return p
	}
	if pp.made >= pp.Most {
		pp.mu.Unlock()
		return nil
	}
	pp.made++
	pp.mu.Unlock()
	p, err := newPipe(PipeSize)
	if err != nil {
		pp.mu.Lock()
		pp.made--
		pp.mu.Unlock()
		return nil
	}
	return p
}

// Put takes a pipe back; one that is not empty is closed.
func (pp *Pipes) Put(p *Pipe, empty bool) {
	pp.mu.Lock()
	if empty && len(pp.idle) < keepPipes && p.Size >= PipeSize {
		pp.idle = append(pp.idle, p)
		pp.mu.Unlock()
		return
	}
	pp.made--
	pp.mu.Unlock()
	p.close()
}

// Close closes those that are idle.
func (pp *Pipes) Close() {
	pp.mu.Lock()
	idle := pp.idle
	pp.idle = nil
	pp.made -= len(idle)
	pp.mu.Unlock()
	for _, p := range idle {
		p.close()
	}
}

// Used is how many pipes are in use.
func (pp *Pipes) Used() int {
	pp.mu.Lock()
	defer pp.mu.Unlock()
	return pp.made - len(pp.idle)
}

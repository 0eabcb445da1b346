package conn

import "sync"

// A pipe is one of the kernel's, for splice(2).
type pipe struct{ r, w, size int }

func (p *pipe) close() {
	closeFD(p.r)
	closeFD(p.w)
}

// A pipePool keeps empty pipes, and bounds how many there are: each costs two
// descriptors. Whoever gets none copies.
type pipePool struct {
	mu   sync.Mutex
	idle []*pipe
	made int // idle or not
	most int
}

const (
	pipeSize  = 1 << 20 // as much as an unprivileged process may ask for
	keepPipes = 8
)

// get is an empty pipe, or nil.
func (pp *pipePool) get() *pipe {
	pp.mu.Lock()
	if n := len(pp.idle); n > 0 {
		p := pp.idle[n-1]
		pp.idle = pp.idle[:n-1]
		pp.mu.Unlock()
		return p
	}
	if pp.made >= pp.most {
		pp.mu.Unlock()
		return nil
	}
	pp.made++
	pp.mu.Unlock()
	p, err := newPipe(pipeSize)
	if err != nil {
		pp.mu.Lock()
		pp.made--
		pp.mu.Unlock()
		return nil
	}
	return p
}

// put takes a pipe back; one that is not empty is closed.
func (pp *pipePool) put(p *pipe, empty bool) {
	pp.mu.Lock()
	if empty && len(pp.idle) < keepPipes && p.size >= pipeSize {
		pp.idle = append(pp.idle, p)
		pp.mu.Unlock()
		return
	}
	pp.made--
	pp.mu.Unlock()
	p.close()
}

// close closes those that are idle.
func (pp *pipePool) close() {
	pp.mu.Lock()
	idle := pp.idle
	pp.idle = nil
	pp.made -= len(idle)
	pp.mu.Unlock()
	for _, p := range idle {
		p.close()
	}
}

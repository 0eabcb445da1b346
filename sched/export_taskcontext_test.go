package sched

// Contexts is the number of tasks that have made a context and have not ended.
func (rt *Runtime) Contexts() int {
	rt.contexts.mu.Lock()
	defer rt.contexts.mu.Unlock()
	return len(rt.contexts.m)
}

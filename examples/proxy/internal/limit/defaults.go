package limit

// reserve is how many descriptors are kept for other things than clients: listeners, rings, and
// standard streams. Splices do without a pipe where no descriptor is left for one.
const reserve = 128

// Defaults are the bounds of a configuration, where 0 means the default and a negative number no
// bound. A connection needs two descriptors, its own and one to an upstream. So the default is half
// of those that the process may have beyond the reserve, or a quarter of all if those are few. One
// source may have half of the connections, but this machine's own programs all of them.
func Defaults(most, perSource int) Bounds {
	b := Bounds{Most: int64(most), PerSource: perSource, Local: true}
	if most == 0 {
		b.Most = divisible() / perClient
	}
	if perSource == 0 {
		b.PerSource, b.Local = int(max(b.Most/2, 1)), false
		if b.Most < 0 {
			b.PerSource = 0
		}
	}
	b.Most, b.PerSource = max(b.Most, 0), max(b.PerSource, 0)
	return b
}

// divisible is how many descriptors there are for clients, upstreams and sessions.
func divisible() int64 {
	n := descriptors()
	return max(n-reserve, n/2, perClient)
}

// Idle is how many connections of one pool may wait for a request. Their descriptors are beside
// those of a Budget.
func Idle() int { return int(max(divisible()/16, 2)) }

// Divide divides the descriptors among what a configuration has: clients' connections, UDP
// sessions, and pools of connections to upstreams that wait for a request. Half are for the former
// two, however many pools there are.
func (b *Budget) Divide(clients, sessions bool, pools int) {
	all := divisible()
	b.Set(max(all-int64(pools)*int64(Idle()), all/2), clients, sessions)
}

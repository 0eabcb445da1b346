package load

// isMarked reports whether the client's message with that number begins with Mark. It is the same
// in each run.
func (s *stream) isMarked(c *client, number int) bool {
	if c.slow || s.oneOf == 0 {
		return c.slow
	}
	return scatter(uint64(s.place(c, number)))%uint64(s.oneOf) == 0
}

// scatter makes a number that looks random of another one (SplitMix64, by Steele, Lea and Flood).
func scatter(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// speaks is the dialect of the client's message with that number.
func (s *stream) speaks(c *client, number int) dialect {
	if s.isMarked(c, number) {
		return s.marked
	}
	return s.dialect
}

package netfd

// HasMemory reports whether an Input has a block.
func HasMemory(in *Input) bool { return in.block != nil }

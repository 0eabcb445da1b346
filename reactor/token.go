package reactor

// A Token names the target of an operation: the index of a slot (24 bits) and
// the slot's generation (32 bits). The top byte is free: backends put the Kind
// there, so that one 64-bit word identifies an operation to the kernel.
type Token uint64

// MaxIndex is the largest slot index a Token can carry.
const MaxIndex = 1<<24 - 1

// MakeToken combines an index, at most MaxIndex, and a generation.
func MakeToken(index, generation uint32) Token {
	return Token(index&MaxIndex)<<32 | Token(generation)
}

// Index returns the slot's index.
func (t Token) Index() uint32 { return uint32(t>>32) & MaxIndex }

// Generation returns the slot's generation.
func (t Token) Generation() uint32 { return uint32(t) }

func userData(k Kind, t Token) uint64 { return uint64(k)<<56 | uint64(t) }

func splitUserData(u uint64) (Kind, Token) { return Kind(u >> 56), Token(u & (1<<56 - 1)) }

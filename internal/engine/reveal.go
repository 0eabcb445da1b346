package engine

// A Root is what a group of package conn embeds, so that package packet finds the engine of it
// and users do not. The zero Root reveals nothing.
type Root struct{ group *Group }

// NewRoot is the root of a group of package conn.
func NewRoot(g *Group) Root { return Root{group: g} }

// reveal makes a Root, and what embeds one, a Host.
func (r Root) reveal() *Group { return r.group }

// A Host is a type that embeds a Root. No other type can be one.
type Host interface{ reveal() *Group }

// Reveal is the engine of a host.
func Reveal(h Host) *Group { return h.reveal() }

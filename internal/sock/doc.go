// Package sock is the calls on a socket's descriptor that no reactor makes: what it is, who its
// peer is, options, errors, copies of it, and pipes. Systems have many of them under different
// names, or not at all.
package sock

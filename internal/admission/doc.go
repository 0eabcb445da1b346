// Package admission limits how many accepted connections there are, in all and of one source,
// and says which listeners wait for the end of one. It knows nothing of listeners or
// connections: a source is an address, and a listener is a Waker.
package admission

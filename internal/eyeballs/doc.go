// Package eyeballs decides in which order, and when, the addresses of a peer are tried. It does so
// as RFC 8305 says (Happy Eyeballs version 2, section 5). Otherwise it tries one after the other,
// as package net does within a family. It is pure data: time is an argument, and sockets are the
// caller's.
package eyeballs

// Package sending has the right to send on one connection: a word that says who
// holds the right, what waits for it, and how many bytes its holders have sent.
package sending

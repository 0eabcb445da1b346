// Package load is a load generator for benchmarks of TCP servers on the loopback. It runs on Linux.
//
// It is a closed loop: each connection has a fixed number of messages in flight and sends the next one when one
// has come back whole. [Echo] and [Chunks] measure messages, [Churn] connections from connect to close, [Idle]
// holds connections that have spoken once. Everything that comes back is compared, byte for byte, with what must:
// a wrong byte, one too many, or a connection that the server ends is an error, and the run is worth nothing.
//
// A run is one goroutine on one thread with one epoll, which allocates nothing while it measures, so that the load
// costs less than what it measures. It connects from many addresses of 127.0.0.0/8, so that ports do not run out.
package load

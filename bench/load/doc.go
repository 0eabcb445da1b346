// Package load is a load generator for benchmarks of servers on the loopback. It runs on Linux; command cmd/load
// is it as a program.
//
// [Echo], [HTTP], [Chunks] and [Packets] measure messages, [Churn] connections from connect to close, [Idle] holds
// connections that have spoken once, [SlowReaders] has servers wait for readers.
//
// Without Config.Rate it is a closed loop: each connection has a fixed number of messages in flight and sends the
// next one when one has come back whole. A server that stalls is then asked less, so that latencies look better
// than they are (coordinated omission); CPU time per message is what a closed loop is for. With a Rate it is an
// open loop: messages are to be sent at fixed times whatever comes back, and the latency of each counts from that
// time, also if the connection had no room for it. What a stall holds up counts, message by message.
//
// Behind a proxy the load can be the server too ([Config.Origin]), on the same thread, and then tells how long the proxy had
// each message. When messages have come is then what the kernel noted, not when the load looked.
//
// Everything that comes back is compared, byte for byte, with what must: a wrong byte, one too many, or a
// connection that the server ends is an error, and the run is worth nothing. Of HTTP the status, the length and
// the body are compared.
//
// A run is one goroutine on one thread with one epoll, which allocates nothing while it measures (TLS does), so
// that the load costs less than what it measures. It connects from many addresses of 127.0.0.0/8, so that ports do
// not run out.
package load

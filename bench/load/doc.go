// Package load is a load generator for benchmarks of servers on the loopback. It runs on Linux;
// command cmd/load is it as a program.
//
// [Echo], [HTTP], [Redis], [Chunks] and [Packets] measure messages, [Churn] connections from
// connect to close, [Idle] holds connections that have spoken once, [SlowReaders] makes servers
// wait for readers.
//
// Without Config.Rate it is a closed loop: each connection has a fixed number of messages in flight
// and sends the next one when an answer is complete. A server that stalls then gets fewer messages,
// so its latencies look better than they are (coordinated omission). A closed loop is for CPU time
// per message. With a Rate it is an open loop: messages have fixed send times, whatever the server
// does. The latency of each counts from that time, even if the connection had no room for it. So a
// stall counts with each message that it delays.
//
// Behind a proxy the load can also be the server ([Config.Origin]), on the same thread. Then it
// reports how long each message was in the proxy. It takes the times of arrival from the kernel.
//
// Every answer is compared, byte for byte. A wrong byte, an extra byte, or a connection that the
// server ends is an error and makes the run void. Of HTTP the status, the length and the body are
// compared.
//
// A run is one goroutine on one thread with one epoll. It allocates nothing while it measures,
// except for TLS, so that the load costs less than the server. It connects from many addresses of
// 127.0.0.0/8, so that ports do not run out.
package load

// Package otel gives the figures of servers to OpenTelemetry's metrics, and makes spans of
// connections, their TLS handshakes, sessions of datagrams, and sequential functions.
//
// A [Producer] belongs to a reader of the metrics SDK, a [Tracer] wraps handlers:
//
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(otel.NewProducer(s)))
//	tracer := otel.NewTracer(traceProvider)
//	s.ConnConfig.ConnContext = tracer.ConnContext
//	s.Handler = tracer.Sequential(serve)
//	s.Packets = &server.Sessions{Handler: tracer.Sessions(h)}
//
// Importing the package registers nothing, and no global provider is used.
package otel

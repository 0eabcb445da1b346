// Package metrics has the figures of servers as data, and writes them as text.
//
// A [Family] is one figure by its OpenTelemetry name, such as suiro.connection.duration, with its
// unit and its [Sample] values. Server.Metrics of package server, Group.Metrics of package conn and
// Runtime.Metrics of package sched return families. Each of these is a [Source].
//
// [Handler] serves sources to Prometheus and to every other reader of OpenMetrics:
//
//	http.Handle("/metrics", metrics.Handler(server))
//
// The package has no dependencies. For the official client of Prometheus and for OpenTelemetry
// there are the modules contrib/prometheus and contrib/otel.
package metrics

// Package interop tests others' libraries and programs with servers on Suiro: gRPC's
// interop client, WebSocket clients, fasthttp, h2load. Sequential handlers call go-redis and
// pgx. It is tests alone, in a module of its own, so that what they need does not enter a user's.
package interop

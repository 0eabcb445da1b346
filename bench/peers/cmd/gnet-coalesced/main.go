// Command gnet-coalesced is the raw handler on gnet with the responses to one read gathered by
// hand.
package main

import "github.com/suiro-go/suiro/bench/peers/internal/gnetpeer"

func main() { gnetpeer.Run(false) }

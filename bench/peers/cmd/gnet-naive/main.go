// Command gnet-naive is the raw handler on gnet with one Write per response.
package main

import "github.com/suiro-go/suiro/bench/peers/internal/gnetpeer"

func main() { gnetpeer.Run(true) }

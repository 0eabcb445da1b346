package reactor

import "github.com/suiro-go/suiro/internal/faults"

func init() {
	faults.Into = func(config any, plan *faults.Plan) { config.(*Config).faults = plan }
	faults.Of = func(config any) *faults.Plan { return config.(*Config).faults }
}

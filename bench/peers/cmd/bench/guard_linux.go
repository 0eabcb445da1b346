package main

import "context"

type guard struct{ update bool }

func (g *guard) run(ctx context.Context, cfg config) (bool, error) { return false, nil }

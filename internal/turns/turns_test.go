package turns

import (
	"slices"
	"testing"
)

type owner struct {
	turn            Turn
	begins, signals int
}

func (o *owner) Begin()  { o.begins++ }
func (o *owner) Signal() { o.signals++ }

func owners(n int) []*owner {
	all := make([]*owner, n)
	for i := range all {
		all[i] = new(owner)
		all[i].turn.Owner = all[i]
	}
	return all
}

func begins(all []*owner) (n []int) {
	for _, o := range all {
		n = append(n, o.begins)
	}
	return n
}

func TestTheNextBeginsWhenOneLeaves(t *testing.T) {
	var turns Turns
	all := owners(4)
	for _, o := range all {
		turns.Begin(&o.turn, 2)
	}
	if got := begins(all); !slices.Equal(got, []int{1, 1, 0, 0}) || turns.Waiting() != 2 {
		t.Fatalf("have begun: %v, %d wait", got, turns.Waiting())
	}
	if !turns.WaitsToBegin(&all[2].turn) || turns.WaitsToBegin(&all[0].turn) {
		t.Error("others wait to begin")
	}
	turns.Leave(&all[1].turn)
	turns.Leave(&all[1].turn) // has none
	if got := begins(all); !slices.Equal(got, []int{1, 1, 1, 0}) {
		t.Errorf("have begun: %v", got)
	}
}

func TestOneThatGoesOnIsSignaledInItsTurn(t *testing.T) {
	var turns Turns
	all := owners(2)
	turns.Begin(&all[0].turn, 1)
	turns.Leave(&all[0].turn)
	turns.Begin(&all[1].turn, 1)
	if turns.Ask(&all[0].turn, 1) || turns.Given(&all[0].turn) {
		t.Fatal("two have a turn")
	}
	turns.GiveUp(&all[0].turn) // it withdraws by itself
	turns.Leave(&all[1].turn)
	if !turns.Given(&all[0].turn) || all[0].signals != 1 || all[0].begins != 1 || turns.Withdraw(&all[0].turn) {
		t.Errorf("the turn is not passed on: %+v", all[0])
	}
}

func TestOneThatHasWithdrawnIsPassedOver(t *testing.T) {
	var turns Turns
	all := owners(3)
	for _, o := range all {
		turns.Begin(&o.turn, 1)
	}
	turns.GiveUp(&all[1].turn)
	turns.Leave(&all[0].turn)
	if got := begins(all); !slices.Equal(got, []int{1, 0, 1}) {
		t.Errorf("have begun: %v", got)
	}
	if turns.Ask(&all[0].turn, 1) || !turns.Withdraw(&all[0].turn) || turns.Withdraw(&all[0].turn) {
		t.Error("one in the line cannot withdraw once")
	}
	turns.Leave(&all[2].turn)
	if turns.Given(&all[0].turn) || turns.running != 0 {
		t.Error("the turn was given to one that had withdrawn")
	}
}

package {{go.package}}

import "context"

// usualConnections is how many calls are under way at once, if no option says.
const usualConnections = 100

// turns are as many as attempts can be made at once; nil for any number.
type turns chan struct{}

// take waits for a turn, or for the end of the context.
func (t turns) take(ctx context.Context) error {
	if t == nil {
		return nil
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// giveBack lets another attempt have the turn.
func (t turns) giveBack() {
	if t != nil {
		<-t
	}
}

package {{go.package}}

import (
	"context"
	"time"
)

// Clock is what a [Client] waits by between attempts, and between pages of a feed. Give one of your own in tests, which then don't wait.
// Timeouts of attempts go by real time.
type Clock interface {
	// Now returns the time, from which the distance of a date in Retry-After is measured if the reply has no Date.
	Now() time.Time
	// Sleep is called once for each wait. It returns an error if the context ends before the duration is over.
	Sleep(ctx context.Context, duration time.Duration) error
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

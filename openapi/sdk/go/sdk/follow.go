// {{#events}}
package {{go.package}}

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"
)

// usualPoll is how long a follower waits for more, if no option says.
const usualPoll = time.Second

// WithPollInterval says how long Follow waits before it asks again, when there is nothing more for now. The default is 1 s.
// Other calls take no notice of it.
func WithPollInterval(interval time.Duration) CallOption {
	return callOption(func(s *settings) error {
		if interval <= 0 {
			return usage("the poll interval must be more than 0, and is %v", interval)
		}
		s.pollInterval = interval
		return nil
	})
}

// Follower goes through a feed without end; see [EventService.Follow]. One goroutine at a time may use it.
type Follower[Item any] struct {
	ctx        context.Context
	connection *connection
	operation  operation
	options    []CallOption
	// fetch asks for the page after a cursor.
	fetch func(ctx context.Context, after string) (feedPage[Item], error)
	// start is where the caller began.
	start  string
	cursor string
}

// feedPage is a page of a feed.
type feedPage[Item any] struct {
	items      []Item
	nextCursor string
	hasMore    bool
}

func newFollower[Item any](
	ctx context.Context, c *connection, operation operation, start string, options []CallOption,
	fetch func(ctx context.Context, after string) (feedPage[Item], error),
) *Follower[Item] {
	return &Follower[Item]{
		ctx: ctx, connection: c, operation: operation, options: options, fetch: fetch, start: start,
	}
}

// Events goes through the events, the oldest first. An error is the last that comes: that of a page, such as the reason
// EVENTS_GONE, or one that wraps that of the context. Ranged over again, it goes on from the cursor.
func (f *Follower[Item]) Events() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := f.follow(func(item Item) bool { return yield(item, nil) }); err != nil {
			var none Item
			yield(none, err)
		}
	}
}

// Cursor returns from where to go on after a restart, as After of the input: the cursor behind the last page whose events have
// all been taken, which the caller shows by asking for the next one; "" before there is one. What was taken of a page that had
// more comes again then.
func (f *Follower[Item]) Cursor() string {
	return f.cursor
}

// follow hands over what comes until it isn't wanted any more, or a page fails.
func (f *Follower[Item]) follow(take func(Item) bool) error {
	// An option that makes no sense is the error of the first page.
	settings, _ := f.connection.with(f.options)
	interval := cmp.Or(settings.pollInterval, usualPoll)
	for {
		after := cmp.Or(f.cursor, f.start)
		page, err := f.fetch(f.ctx, after)
		if err != nil {
			return err
		}
		for _, item := range page.items {
			if !take(item) {
				return nil
			}
		}
		f.cursor = page.nextCursor
		// A cursor that leads to itself is not asked for without a pause.
		if page.hasMore && page.nextCursor != after {
			continue
		}
		if err := f.connection.clock.Sleep(f.ctx, interval); err != nil {
			return fmt.Errorf("%s: cancelled between pages: %w", f.operation.id, err)
		}
	}
}
// {{/events}}

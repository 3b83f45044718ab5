// {{#events}}
package {{go.package}}

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
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

// pollsBetween is how often pages are asked for before a stream that could not be opened is tried again.
const pollsBetween = 30

// longestOpening is how long Follow waits for the first message of a stream.
const longestOpening = 10 * time.Second

// Follower goes through a feed without end; see [EventService.Follow] and [EventService.Tail]. One goroutine at a time may use it.
type Follower[Item any] struct {
	ctx        context.Context
	connection *connection
	options    []CallOption
	// tail opens the stream.
	tail operation
	// input is that of the caller.
	input any
	// pages are asked for where there is no stream; nil to insist on it.
	pages *pages[Item]
	// start is where the caller began.
	start  string
	cursor string
	// polls is how many pages are asked for before the stream is tried, less than 0 for never again.
	polls int
}

// pages are those of a feed.
type pages[Item any] struct {
	operation operation
	// fetch asks for the page after a cursor.
	fetch func(ctx context.Context, after string) (feedPage[Item], error)
}

// feedPage is a page of a feed.
type feedPage[Item any] struct {
	items      []Item
	nextCursor string
	hasMore    bool
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
// all been taken, which the caller shows by asking for the next one, or behind the last event of a stream that was taken so; ""
// before there is one. What was taken of a page that had more comes again then.
func (f *Follower[Item]) Cursor() string {
	return f.cursor
}

// follow hands over what comes until it isn't wanted any more, or the stream or a page fails.
func (f *Follower[Item]) follow(take func(Item) bool) error {
	settings, err := f.connection.begin(f.ctx, f.options)
	if err != nil {
		return fmt.Errorf("%s: %w", f.tail.id, err)
	}
	opening := settings
	if f.pages != nil {
		opening.maxRetries, opening.timeout = 0, min(settings.timeout, longestOpening)
	}
	for {
		var isEnough bool
		var err error
		if f.polls == 0 {
			var opened *stream
			if opened, err = f.open(opening); err == nil {
				isEnough, err = f.takeStream(opened, take)
			} else if f.pages != nil && f.ctx.Err() == nil {
				f.polls, err = pollsAfter(err), nil
			}
		} else {
			isEnough, err = f.takePage(cmp.Or(settings.pollInterval, usualPoll), take)
			f.polls = max(f.polls-1, min(f.polls, 0))
		}
		if isEnough || err != nil {
			return err
		}
	}
}

// pollsAfter returns how many pages are asked for after a stream could not be opened.
func pollsAfter(err error) int {
	var refusal *APIError
	var strange *UnexpectedReplyError
	var broken *ConnectionError
	hasNone := errors.As(err, &strange) ||
		errors.As(err, &refusal) && (refusal.Status == http.StatusNotFound || refusal.Status == http.StatusMethodNotAllowed) ||
		errors.As(err, &broken) && (broken.cause == errAttempt || broken.cause == errEnded)
	if hasNone {
		return -1
	}
	return pollsBetween
}

// open opens the stream from the cursor on.
func (f *Follower[Item]) open(settings settings) (*stream, error) {
	text, err := encode(f.input)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.tail.id, err)
	}
	members := map[string]any{}
	_ = json.Unmarshal(text, &members)
	delete(members, "limit")
	switch {
	case f.cursor != "":
		members["after"] = f.cursor
		delete(members, "start")
	case members["after"] == nil && members["start"] == nil:
		members["start"] = "latest"
	}
	return f.connection.open(f.ctx, f.tail, members, settings)
}

// takeStream hands over what comes by a stream until that breaks, and then waits as long as the service wants it to.
func (f *Follower[Item]) takeStream(s *stream, take func(Item) bool) (isEnough bool, err error) {
	defer s.close()
	for {
		message, err := s.next()
		if err != nil {
			break
		}
		if message.event == "serialized-error" {
			s.call.failed.Attempts = 1
			refusal := s.call.apiError(s.failure(message))
			if !isPassingReply(refusal) {
				return false, refusal
			}
			break
		}
		if message.event == "" {
			var data struct {
				JSON Item `json:"json"`
			}
			if err := json.Unmarshal([]byte(message.data), &data); err != nil {
				s.reply.body = []byte(message.data)
				return false, s.call.unexpected(s.reply, " whose event is not readable: "+firstOf(err.Error(), shownFault))
			}
			if !take(data.JSON) {
				return true, nil
			}
		}
		f.cursor = cmp.Or(message.id, f.cursor)
	}
	s.close()
	if err := f.connection.clock.Sleep(f.ctx, s.pause()); err != nil {
		return false, fmt.Errorf("%s: cancelled between messages: %w", f.tail.id, err)
	}
	return false, nil
}

// takePage hands over what is on the next page, and waits if there is no more for now.
func (f *Follower[Item]) takePage(interval time.Duration, take func(Item) bool) (isEnough bool, err error) {
	after := cmp.Or(f.cursor, f.start)
	page, err := f.pages.fetch(f.ctx, after)
	if err != nil {
		return false, err
	}
	for _, item := range page.items {
		if !take(item) {
			return true, nil
		}
	}
	f.cursor = page.nextCursor
	// A cursor that leads to itself is not asked for without a pause.
	if page.hasMore && page.nextCursor != after {
		return false, nil
	}
	if err := f.connection.clock.Sleep(f.ctx, interval); err != nil {
		return false, fmt.Errorf("%s: cancelled between pages: %w", f.pages.operation.id, err)
	}
	return false, nil
}
// {{/events}}

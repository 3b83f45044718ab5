// {{#events}}
package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gateway "{{go.module}}"
)

// feed answers these pages, one after another; it has no stream.
func feed(t *testing.T, pages ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if hasNoStream(w, r) {
			return
		}
		body, _ := io.ReadAll(r.Body)
		if len(pages) == 0 {
			t.Errorf("another page was asked for by %s", body)
			return
		}
		fmt.Fprint(w, pages[0])
		pages = pages[1:]
	}
}

// hasNoStream refuses a request for a stream.
func hasNoStream(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodPost {
		return false
	}
	w.WriteHeader(http.StatusMethodNotAllowed)
	return true
}

func feedPage(cursor string, hasMore bool, ids ...string) string {
	var items []string
	for _, id := range ids {
		items = append(items, fmt.Sprintf(`{"id":%q,"position":1,"type":"game.polished","record":{"kind":"game","id":"1"},`+
			`"actorId":null,"at":"2026-04-01T09:30:00.000Z"}`, id))
	}
	return fmt.Sprintf(`{"result":{"data":{"json":{"items":[%s],"nextCursor":%q,"hasMore":%t}}}}`,
		strings.Join(items, ","), cursor, hasMore)
}

const gone = `{"error":{"json":{"message":"Gone.","code":-32004,"data":{"code":"NOT_FOUND","reason":"EVENTS_GONE","httpStatus":404}}}}`

// take goes through events up to a number of them. It returns their ids, and the cursor at each.
func take(follower *gateway.Follower[gateway.Event], most int) (ids, cursors []string, err error) {
	for event, err := range follower.Events() {
		if err != nil {
			return ids, cursors, err
		}
		ids, cursors = append(ids, event.ID), append(cursors, follower.Cursor())
		if len(ids) == most {
			break
		}
	}
	return ids, cursors, nil
}

func TestFollowGoesOnWithTheCursorAndWaitsAtTheEnd(t *testing.T) {
	var bodies []string
	pages := feed(t, feedPage("c1", true, "a", "b"), feedPage("c2", false), feedPage("c3", false, "c"))
	var waits clock
	client, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if hasNoStream(w, r) {
			return
		}
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		r.Body = http.NoBody
		pages(w, r)
	}, gateway.WithClock(&waits))
	follower := client.Event.Follow(t.Context(), gateway.EventListInput{RecordID: "1"}, gateway.WithPollInterval(time.Hour))
	if follower.Cursor() != "" {
		t.Errorf("before the first page, the cursor is %q", follower.Cursor())
	}
	ids, cursors, err := take(follower, 3)
	if err != nil || !slices.Equal(ids, []string{"a", "b", "c"}) || !slices.Equal(cursors, []string{"", "", "c2"}) {
		t.Errorf("%q at %q, %v", ids, cursors, err)
	}
	wanted := []string{
		`{"json":{"recordId":"1","start":"latest"}}`, `{"json":{"after":"c1","recordId":"1"}}`, `{"json":{"after":"c2","recordId":"1"}}`,
	}
	if !slices.Equal(bodies, wanted) || waits.waits != 1 {
		t.Errorf("%q were sent, with %d waits", bodies, waits.waits)
	}
	// The event that was taken last may not have been done with.
	if follower.Cursor() != "c2" {
		t.Errorf("the cursor is %q", follower.Cursor())
	}
}

func TestFollowRaisesTheErrorOfAPage(t *testing.T) {
	pages := feed(t, feedPage("c1", true, "a"))
	isGone := false
	client, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if hasNoStream(w, r) {
			return
		}
		if isGone {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, gone)
			return
		}
		isGone = true
		pages(w, r)
	})
	follower := client.Event.Follow(t.Context(), gateway.EventListInput{})
	ids, _, err := take(follower, 2)
	var failure *gateway.APIError
	if !errors.As(err, &failure) || failure.Reason != "EVENTS_GONE" || len(ids) != 1 || requests.Load() != 3 {
		t.Errorf("%q, %v after %d requests", ids, err, requests.Load())
	}
	if follower.Cursor() != "c1" {
		t.Errorf("the cursor is %q", follower.Cursor())
	}
}

func TestFollowEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	// The clock of the system waits until the context ends.
	client, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if hasNoStream(w, r) {
			return
		}
		time.AfterFunc(50*time.Millisecond, cancel)
		fmt.Fprint(w, feedPage("c1", false))
	}, gateway.WithClock(waiting{}))
	_, _, err := take(client.Event.Follow(ctx, gateway.EventListInput{}), 1)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "event.list: ") {
		t.Errorf("the error is %v", err)
	}
	_, _, err = take(client.Event.Follow(t.Context(), gateway.EventListInput{}, gateway.WithPollInterval(0)), 1)
	if !isUsage(err) {
		t.Errorf("the error is %v", err)
	}
}

func TestTailEndsWithTheContextAndWhenItIsBrokenOff(t *testing.T) {
	ended := make(chan struct{}, 2)
	client, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: connected\ndata: {}\nid: c0\n\ndata: {\"json\":{\"id\":\"a\"}}\nid: c1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		ended <- struct{}{}
	}, gateway.WithMaxConnections(1))
	ids, cursors, err := take(client.Event.Tail(t.Context(), gateway.EventListInput{}), 1)
	if err != nil || !slices.Equal(ids, []string{"a"}) || !slices.Equal(cursors, []string{"c0"}) {
		t.Errorf("%q at %q, %v", ids, cursors, err)
	}
	<-ended
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	follower := client.Event.Tail(ctx, gateway.EventListInput{})
	for event, failure := range follower.Events() {
		if err = failure; event.ID == "a" {
			cancel()
		}
	}
	<-ended
	if !errors.Is(err, context.Canceled) || follower.Cursor() != "c1" || requests.Load() != 2 {
		t.Errorf("%v at %q after %d requests", err, follower.Cursor(), requests.Load())
	}
	_, _, err = take(client.Event.Tail(t.Context(), gateway.EventListInput{}, gateway.WithSilence(0)), 1)
	if !isUsage(err) {
		t.Errorf("the error is %v", err)
	}
}

// waiting is a clock that waits until the context ends.
type waiting struct{}

func (waiting) Now() time.Time { return time.Now() }

func (waiting) Sleep(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestUnwrapChecksTheSecret(t *testing.T) {
	for _, secret := range []string{"", "whsec_", "whsec_%%%", "c2VjcmV0"} {
		if _, err := gateway.UnwrapWebhook(nil, http.Header{}, secret); !isUsage(err) || strings.Contains(err.Error(), "c2V") {
			t.Errorf("%q: %v", secret, err)
		}
	}
}

func TestUnwrapFindsHeadersInAnyCase(t *testing.T) {
	header := http.Header{"webhook-id": {"1"}, "WEBHOOK-TIMESTAMP": {"0"}, "Webhook-Signature": {"v1,AAAA"}}
	_, err := gateway.UnwrapWebhook(nil, header, "whsec_c2VjcmV0")
	var refused *gateway.WebhookVerificationError
	if !errors.As(err, &refused) || refused.Fault != gateway.WebhookFaultOld {
		t.Errorf("the error is %v", err)
	}
}

func TestUnwrapSaysWhetherAMessageIsOldOrAhead(t *testing.T) {
	now := time.Unix(10_000, 0)
	for sent, wanted := range map[string]string{
		"9969":                "webhook: the message is more than 30 s old",
		"0":                   "webhook: the message is more than 30 s old",
		"10031":               "webhook: the message is more than 30 s ahead of the clock",
		"9223372036854775807": "webhook: the message is more than 30 s ahead of the clock",
		"9970":                "webhook: no signature is that of one of the secrets",
		"10030":               "webhook: no signature is that of one of the secrets",
		"-1":                  "webhook: the time is no number of seconds",
	} {
		header := http.Header{"Webhook-Id": {"1"}, "Webhook-Timestamp": {sent}, "Webhook-Signature": {"v1,AAAA"}}
		_, err := gateway.UnwrapWebhook(nil, header, "whsec_c2VjcmV0", gateway.WithOtherSecrets("whsec_AAAA"),
			gateway.WithTolerance(30*time.Second), gateway.WithClock(standing{now}))
		if err == nil || err.Error() != wanted {
			t.Errorf("%s: %v", sent, err)
		}
	}
	for _, option := range []gateway.WebhookOption{gateway.WithTolerance(-1), gateway.WithOtherSecrets("whsec_AAAA", "")} {
		if _, err := gateway.UnwrapWebhook(nil, http.Header{}, "whsec_c2VjcmV0", option); !isUsage(err) {
			t.Errorf("the error is %v", err)
		}
	}
}

// standing is a clock that stands still.
type standing struct{ now time.Time }

func (s standing) Now() time.Time { return s.now }

func (standing) Sleep(context.Context, time.Duration) error { return nil }

func TestUpdateLeavesSetsOrClearsAList(t *testing.T) {
	var bodies []string
	client, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
	}, gateway.WithMaxRetries(0))
	for _, types := range []gateway.ListChange[gateway.EventType]{
		{},
		gateway.ClearList[gateway.EventType](),
		gateway.SetListTo[gateway.EventType](),
		gateway.SetListTo(gateway.EventTypeGameCreated, "game.polished"),
	} {
		// The reply is nobody's business here.
		_, _ = client.Webhook.Update(t.Context(), gateway.WebhookUpdateInput{ID: "w1", Types: types})
	}
	wanted := []string{
		`{"json":{"id":"w1"}}`,
		`{"json":{"id":"w1","types":null}}`,
		`{"json":{"id":"w1","types":[]}}`,
		`{"json":{"id":"w1","types":["game.created","game.polished"]}}`,
	}
	if !slices.Equal(bodies, wanted) {
		t.Errorf("%q was sent", bodies)
	}
}
// {{/events}}

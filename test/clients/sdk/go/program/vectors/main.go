// Command vectors makes the calls that a fault server lists, and prints what comes of each as a line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"time"

	gateway "{{go.module}}"
)

// replyDelay is how long after its beginning a call is cancelled during its reply.
const replyDelay = 300 * time.Millisecond

type vector struct {
	Name               string  `json:"name"`
	BaseURL            string  `json:"baseUrl"`
	Key                *string `json:"key"`
	ClockOffsetSeconds int     `json:"clockOffsetSeconds"`
	Call               struct {
		Operation string          `json:"operation"`
		Input     json.RawMessage `json:"input"`
		Form      string          `json:"form"`
		Take      *int            `json:"take"`
		Options   options         `json:"options"`
		Cancel    string          `json:"cancel"`
	} `json:"call"`
}

type options struct {
	MaxRetries       *int              `json:"maxRetries"`
	TimeoutMs        *int              `json:"timeoutMs"`
	ConnectTimeoutMs *int              `json:"connectTimeoutMs"`
	IdempotencyKey   *string           `json:"idempotencyKey"`
	Headers          map[string]string `json:"headers"`
}

// outcome is what is printed; what a form of call or an outcome doesn't have is left out.
type outcome struct {
	Name      string         `json:"name"`
	Waits     []float64      `json:"waits"`
	OK        map[string]any `json:"ok,omitempty"`
	Meta      map[string]any `json:"meta,omitempty"`
	Items     []string       `json:"items,omitzero"`
	Error     map[string]any `json:"error,omitempty"`
	Cancelled bool           `json:"cancelled,omitempty"`
	Text      string         `json:"text,omitempty"`
	Debug     string         `json:"debug"`
}

func main() {
	log.SetFlags(0)
	vectors, err := read(os.Getenv("VECTORS_URL") + "/vectors?run=" + url.QueryEscape(os.Getenv("VECTORS_RUN")))
	if err != nil {
		log.Fatal(err)
	}
	for index, vector := range vectors {
		line, err := json.Marshal(vector.play(index%2 == 1))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(line))
	}
}

func read(address string) ([]vector, error) {
	response, err := http.Get(address)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	var vectors []vector
	return vectors, json.Unmarshal(body, &vectors)
}

// clock notes waits in place of waiting.
type clock struct {
	offset time.Duration
	slept  time.Duration
	waits  []float64
	// cancel, if there is one, is called in each wait, which then lasts until it takes effect.
	cancel context.CancelFunc
}

func (c *clock) Now() time.Time {
	return time.Now().Add(c.offset + c.slept)
}

func (c *clock) Sleep(ctx context.Context, duration time.Duration) error {
	c.waits = append(c.waits, duration.Seconds())
	if c.cancel != nil {
		c.cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	c.slept += duration
	return nil
}

func (o options) shared() (shared []gateway.SharedOption) {
	for name, value := range o.Headers {
		shared = append(shared, gateway.WithHeader(name, value))
	}
	if o.MaxRetries != nil {
		shared = append(shared, gateway.WithMaxRetries(*o.MaxRetries))
	}
	if o.TimeoutMs != nil {
		shared = append(shared, gateway.WithTimeout(time.Duration(*o.TimeoutMs)*time.Millisecond))
	}
	if o.ConnectTimeoutMs != nil {
		shared = append(shared, gateway.WithConnectTimeout(time.Duration(*o.ConnectTimeoutMs)*time.Millisecond))
	}
	return shared
}

// play makes the calls of a vector, with its options given to the client or to each call.
func (v vector) play(optionsOfClient bool) outcome {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	clock := &clock{offset: time.Duration(v.ClockOffsetSeconds) * time.Second, waits: []float64{}}
	key := ""
	if v.Key != nil {
		key = *v.Key
	}
	ofClient := []gateway.Option{gateway.WithBaseURL(v.BaseURL), gateway.WithAPIKey(key), gateway.WithClock(clock)}
	var ofCall []gateway.CallOption
	for _, option := range v.Call.Options.shared() {
		if optionsOfClient {
			ofClient = append(ofClient, option)
		} else {
			ofCall = append(ofCall, option)
		}
	}
	if own := v.Call.Options.IdempotencyKey; own != nil {
		ofCall = append(ofCall, gateway.WithIdempotencyKey(*own))
	}
	client, err := gateway.New(ofClient...)
	if err != nil {
		log.Fatalf("%s: %v", v.Name, err)
	}

	result := outcome{Name: v.Name}
	switch v.Call.Cancel {
	case "during-wait":
		clock.cancel = cancel
	case "during-reply":
		time.AfterFunc(replyDelay, cancel)
	}
	if v.Call.Form == "call" {
		var response gateway.Response
		result.OK, err = v.call(ctx, client, append(ofCall, gateway.WithResponse(&response))...)
		if err == nil {
			result.Meta = metaOf(response)
		}
	} else {
		result.Items, err = v.records(ctx, client, ofCall...)
	}
	result.Waits = clock.waits
	result.Debug = fmt.Sprintf("%v %+v %#v %v %+v %#v %+v %#v", err, err, err, client, client, client, *client, *client)
	if err != nil {
		result.Text = err.Error()
		result.Cancelled = errors.Is(err, context.Canceled)
		result.Error = membersOf(err)
	}
	return result
}

func inputOf[Input any](v vector) (input Input) {
	if err := json.Unmarshal(v.Call.Input, &input); err != nil {
		log.Fatalf("%s: %v", v.Name, err)
	}
	return input
}

func (v vector) call(ctx context.Context, client *gateway.Client, options ...gateway.CallOption) (map[string]any, error) {
	switch v.Call.Operation {
	case "game.getById":
		return okOf(gameOf)(client.Game.GetByID(ctx, inputOf[gateway.GameGetByIDInput](v), options...))
	case "game.create":
		return okOf(gameOf)(client.Game.Create(ctx, inputOf[gateway.GameInput](v), options...))
	case "game.list":
		return okOf(pageOf)(client.Game.List(ctx, inputOf[gateway.GameListInput](v), options...))
	case "user.me":
		return okOf(userOf)(client.User.Me(ctx, options...))
	}
	return nil, fmt.Errorf("%s: no such operation is known here", v.Call.Operation)
}

// records returns the ids that came, also before an error.
func (v vector) records(ctx context.Context, client *gateway.Client, options ...gateway.CallOption) ([]string, error) {
	input := inputOf[gateway.GameListInput](v)
	ids := []string{}
	if v.Call.Form == "pages" {
		page, err := client.Game.List(ctx, input, options...)
		for err == nil {
			ids = append(ids, idsOf(page)...)
			if !page.HasNextPage() {
				return ids, nil
			}
			page, err = page.NextPage(ctx)
		}
		return ids, err
	}
	for game, err := range client.Game.ListAll(ctx, input, options...) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, game.ID)
		if v.Call.Take != nil && len(ids) == *v.Call.Take {
			break
		}
	}
	return ids, nil
}

func okOf[Output any](members func(*Output) map[string]any) func(*Output, error) (map[string]any, error) {
	return func(output *Output, err error) (map[string]any, error) {
		if err != nil {
			return nil, err
		}
		return members(output), nil
	}
}

func gameOf(game *gateway.Game) map[string]any {
	var reaction *gateway.ReactionType
	if game.Viewer != nil {
		reaction = game.Viewer.Reaction
	}
	return map[string]any{"id": game.ID, "title": game.Title, "reaction": reaction}
}

func pageOf(page *gateway.GameListOutput) map[string]any {
	return map[string]any{
		"ids":           idsOf(page),
		"totalRelation": page.TotalRelation,
		"hasNextPage":   page.HasNextPage(),
	}
}

func idsOf(page *gateway.GameListOutput) []string {
	ids := []string{}
	for _, game := range page.Items {
		ids = append(ids, game.ID)
	}
	return ids
}

func userOf(user *gateway.CurrentUser) map[string]any {
	return map[string]any{"nickname": user.Nickname, "scopes": user.APIKey.Scopes}
}

func metaOf(response gateway.Response) map[string]any {
	var rateLimit map[string]any
	if rate := response.RateLimit; rate != nil {
		rateLimit = map[string]any{
			"policy":       rate.Policy,
			"remaining":    rate.Remaining,
			"resetSeconds": rate.Reset.Seconds(),
		}
	}
	return map[string]any{
		"status":    response.Status,
		"requestId": response.RequestID,
		"attempts":  response.Attempts,
		"replayed":  response.Replayed,
		"rateLimit": rateLimit,
	}
}

// kinds are the kinds of errors, by the names that they have in all languages.
var kinds = []struct {
	kind error
	name string
}{
	{gateway.ErrBadRequest, "BadRequestError"},
	{gateway.ErrAuthentication, "AuthenticationError"},
	{gateway.ErrPermissionDenied, "PermissionDeniedError"},
	{gateway.ErrNotFound, "NotFoundError"},
	{gateway.ErrConflict, "ConflictError"},
	{gateway.ErrPayloadTooLarge, "PayloadTooLargeError"},
	{gateway.ErrUnprocessable, "UnprocessableError"},
	{gateway.ErrRateLimit, "RateLimitError"},
	{gateway.ErrServer, "ServerError"},
	{gateway.ErrTimeout, "ApiTimeoutError"},
}

func kindOf(err error, otherwise string) string {
	for _, each := range kinds {
		if errors.Is(err, each.kind) {
			return each.name
		}
	}
	return otherwise
}

// membersOf returns what is known of a failure; nil if it is none of a call.
func membersOf(err error) map[string]any {
	if !errors.Is(err, gateway.ErrGateway) {
		return nil
	}
	var refusal *gateway.APIError
	var broken *gateway.ConnectionError
	var strange *gateway.UnexpectedReplyError
	switch {
	case errors.As(err, &refusal):
		members := callOf(refusal.FailedCall, kindOf(err, "ApiError"))
		members["status"] = refusal.Status
		members["reason"] = textOrNull(refusal.Reason)
		members["code"] = textOrNull(refusal.Code)
		members["message"] = textOrNull(refusal.Message)
		members["hint"] = textOrNull(refusal.Hint)
		members["docs"] = textOrNull(refusal.Docs)
		members["requestId"] = textOrNull(refusal.RequestID)
		members["issues"] = append([]gateway.Issue{}, refusal.Issues...)
		if refusal.RetryAfter != nil {
			members["retryAfter"] = refusal.RetryAfter.Seconds()
		}
		return members
	case errors.As(err, &broken):
		return callOf(broken.FailedCall, kindOf(err, "ApiConnectionError"))
	case errors.As(err, &strange):
		members := callOf(strange.FailedCall, "UnexpectedReplyError")
		members["status"] = strange.Status
		members["requestId"] = textOrNull(strange.RequestID)
		members["body"] = strange.Body
		return members
	}
	return nil
}

func callOf(call gateway.FailedCall, name string) map[string]any {
	return map[string]any{
		"type":           name,
		"operation":      call.Operation,
		"attempts":       call.Attempts,
		"idempotencyKey": textOrNull(call.IdempotencyKey),
	}
}

// textOrNull returns what other languages have where there is no text.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

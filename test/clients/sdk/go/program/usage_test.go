package programs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	gateway "{{go.module}}"
)

// A base URL that has more than an address would send that in place of the key, or elsewhere.
func TestBaseURLsHaveNoMoreThanAnAddress(t *testing.T) {
	const password = "hunter2"
	for _, address := range []string{
		"https://me:" + password + "@api.example.com",
		"https://" + password + "@api.example.com",
		"https://:" + password + "@api.example.com/base",
		"https://me%40:" + password + "%2f@api.example.com",
		"https://:@api.example.com",
		"https://other.example.com\\@" + password + "@api.example.com",
		"https://api.example.com?key=" + password,
		"https://api.example.com/#" + password,
		"ftp://api.example.com/" + password,
		"https:api.example.com/" + password,
		"https://api.example.com:65536",
	} {
		t.Setenv("{{environment}}_URL", address)
		_, fromEnvironment := gateway.New()
		_, given := gateway.New(gateway.WithBaseURL(address), gateway.WithAPIKey(key))
		client, _ := gateway.New(gateway.WithBaseURL("https://api.example.com"))
		_, derived := client.With(gateway.WithBaseURL(address))
		for _, err := range []error{fromEnvironment, given, derived} {
			if !isUsage(err) || strings.Contains(fmt.Sprintf("%v %#v", err, err), password) {
				t.Errorf("%s: the error is %v", address, err)
			}
		}
	}
}

// text is one of a caller's own types.
type text string

type nested struct {
	gateway.GameListInput
	Any     any `json:"any"`
	Pointer *text
	Map     map[text][]any
}

// Bytes that are no UTF-8 are refused wherever they are: what arrived would not be what was given.
func TestInvalidTextIsNotSent(t *testing.T) {
	client, requests := serve(t, stats)
	ctx := t.Context()
	const latin = "caf\xe9"
	bad := text(latin)
	for name, err := range map[string]error{
		"member":            second(client.Game.Create(ctx, gateway.GameInput{Title: latin})),
		"bare value":        second(client.Game.GetByIDFor(ctx, latin)),
		"list":              second(client.Game.Create(ctx, gateway.GameInput{Title: "a", TagNames: []string{"b", latin}})),
		"inner input":       second(client.Game.BatchCreate(ctx, gateway.GameBatchCreateInput{Games: []gateway.GameInput{{Title: latin}}})),
		"pointer":           second(client.Game.Create(ctx, gateway.GameInput{Title: "a", ExtraInfo: &gateway.ExtraInfoInput{FileSize: latin}})),
		"change":            second(client.Image.Update(ctx, gateway.ImageUpdateInput{ID: "i", Description: gateway.SetTo(latin)})),
		"list change":       second(client.Webhook.Update(ctx, gateway.WebhookUpdateInput{ID: "w", Types: gateway.SetListTo(gateway.EventType(latin))})),
		"half a character":  client.Call(ctx, "game.getNewest", map[string]any{"a": "\xe2\x82"}, nil),
		"encoded surrogate": client.Call(ctx, "game.getNewest", map[string]any{"a": "\xed\xa0\x80"}, nil),
		"key of a map":      client.Call(ctx, "game.getNewest", map[string]any{latin: 1}, nil),
		"own types":         client.Call(ctx, "game.getNewest", nested{Map: map[text][]any{"a": {1, &bad}}}, nil),
		"pointer to text":   client.Call(ctx, "game.getNewest", &nested{Pointer: &bad}, nil),
		"interface":         client.Call(ctx, "game.getNewest", nested{Any: []any{map[string]any{"b": bad}}}, nil),
		"embedded":          client.Call(ctx, "game.getNewest", nested{GameListInput: gateway.GameListInput{Cursor: latin}}, nil),
		"raw JSON":          client.Call(ctx, "game.getNewest", json.RawMessage(`{"a":"`+latin+`"}`), nil),
		"raw half":          client.Call(ctx, "game.getNewest", json.RawMessage(`{"a":"\ud83d \ude00"}`), nil),
		"header":            client.Call(ctx, "game.getNewest", nil, nil, gateway.WithHeader("X-Name", latin)),
		"idempotency key":   client.Call(ctx, "game.getNewest", nil, nil, gateway.WithIdempotencyKey(latin)),
		"tail":              firstError(client.Event.Tail(ctx, gateway.EventListInput{After: latin})),
		"follow":            firstError(client.Event.Follow(ctx, gateway.EventListInput{After: latin})),
	} {
		if !isUsage(err) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	for range client.Game.ListAll(ctx, gateway.GameListInput{Cursor: latin}) {
		break
	}
	if count := requests.Load(); count != 0 {
		t.Errorf("%d requests were sent", count)
	}
}

// All other text arrives as it was given.
func TestTextArrivesAsItIs(t *testing.T) {
	var arrived string
	client, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var sent struct{ JSON struct{ A string } }
		_ = json.Unmarshal(body, &sent)
		arrived = sent.JSON.A
		stats(w, r)
	})
	for _, given := range []string{"�", `\ufffd`, `\\ufffd`, `\ud800`, "😀", "<\u2028>", "\x00\t\"\\", "星"} {
		if err := client.Call(t.Context(), "game.getNewest", map[string]string{"a": given}, nil); err != nil || arrived != given {
			t.Errorf("%q arrived as %q: %v", given, arrived, err)
		}
	}
	raw := json.RawMessage(`{"a":"\ud83d\ude00\\ud83d"}`)
	if err := client.Call(t.Context(), "game.getNewest", raw, nil); err != nil || arrived != `😀\ud83d` {
		t.Errorf("raw JSON arrived as %q: %v", arrived, err)
	}
}

// What has no meaning is a usage error, and never a panic.
func TestNothingPanics(t *testing.T) {
	client, requests := serve(t, stats)
	ctx := t.Context()
	var none *gateway.Client
	var option gateway.SharedOption
	var noContext context.Context
	for name, err := range map[string]error{
		"no context":              second(client.Game.GetTypeStats(noContext)),
		"no context by name":      client.Call(noContext, "game.getNewest", nil, nil),
		"no context of a walk":    walkError(client, noContext),
		"no context of a feed":    firstError(client.Event.Tail(noContext, gateway.EventListInput{})),
		"no context of a page":    second((&gateway.GameListOutput{}).NextPage(noContext)),
		"zero client":             (&gateway.Client{}).Call(ctx, "game.getNewest", nil, nil),
		"zero client's service":   second((&gateway.Client{}).Game.GetTypeStats(ctx)),
		"zero client's walk":      walkError(&gateway.Client{}, ctx),
		"zero client's feed":      firstError((&gateway.Client{}).Event.Follow(ctx, gateway.EventListInput{})),
		"zero client's With":      second((&gateway.Client{}).With()),
		"zero service":            second((&gateway.GameService{}).GetTypeStats(ctx)),
		"nil client":              none.Call(ctx, "game.getNewest", nil, nil),
		"nil client's With":       second(none.With()),
		"nil option":              client.Call(ctx, "game.getNewest", nil, nil, nil),
		"nil function":            client.Call(ctx, "game.getNewest", nil, nil, option),
		"nil option of a client":  second(client.With(nil)),
		"nil function of another": second(client.With(option)),
		"list":                    client.Call(ctx, "game.getNewest", []string{"a"}, nil),
		"function":                client.Call(ctx, "game.getNewest", map[string]any{"a": func() {}}, nil),
		"zero feed":               firstError(&gateway.Follower[gateway.Event]{}),
	} {
		if !isUsage(err) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	none.CloseIdleConnections()
	(&gateway.Client{}).CloseIdleConnections()
	_ = fmt.Sprint(none.String(), (&gateway.Client{}).String())
	if count := requests.Load(); count != 0 {
		t.Errorf("%d requests were sent", count)
	}
	// No input is an input without members.
	for _, input := range []any{nil, map[string]any(nil), (*gateway.GameListInput)(nil), json.RawMessage(nil)} {
		if err := client.Call(ctx, "game.getNewest", input, nil); err != nil {
			t.Errorf("%T: %v", input, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func walkError(client *gateway.Client, ctx context.Context) error {
	for _, err := range client.Game.ListAll(ctx, gateway.GameListInput{}) {
		return err
	}
	return nil
}

func firstError(feed *gateway.Follower[gateway.Event]) error {
	for _, err := range feed.Events() {
		return err
	}
	return nil
}

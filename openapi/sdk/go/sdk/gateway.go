package contentgateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Gateway is the content gateway. Each method takes the parameters of a procedure and returns its output; a failure
// that the service answered is an *Error.
type Gateway struct {
	Game  GameProcedures
	Image ImageProcedures
	User  UserProcedures

	baseURL string
	apiKey  string
	client  *http.Client
}

// GameProcedures are the procedures of game.
type GameProcedures struct{ gateway *Gateway }

// ImageProcedures are the procedures of image.
type ImageProcedures struct{ gateway *Gateway }

// UserProcedures are the procedures of user.
type UserProcedures struct{ gateway *Gateway }

// Option changes what New makes.
type Option func(*Gateway)

// WithAPIKey sends an API key; without one only public procedures can be called.
func WithAPIKey(key string) Option {
	return func(g *Gateway) { g.apiKey = key }
}

// WithHTTPClient uses a client of your own, say for its timeout, instead of http.DefaultClient.
func WithHTTPClient(client *http.Client) Option {
	return func(g *Gateway) { g.client = client }
}

// New returns the gateway at baseURL, such as https://content.example.com.
func New(baseURL string, options ...Option) *Gateway {
	g := &Gateway{baseURL: strings.TrimSuffix(baseURL, "/"), client: http.DefaultClient}
	g.Game, g.Image, g.User = GameProcedures{g}, ImageProcedures{g}, UserProcedures{g}
	for _, option := range options {
		option(g)
	}
	return g
}

type idempotencyKey struct{}

// WithIdempotencyKey returns a context for one write: called again with the same key, a value of your own such as a UUID,
// it is not done again, but answered the same.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

// Error is a failure that the service answered. Branch on Reason, such as GAME_NOT_FOUND.
type Error struct {
	ErrorData
	// Message says what went wrong, for people.
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s", e.Reason, e.Message)
}

// Ptr returns a pointer to a value, for members that can be left out.
func Ptr[T any](value T) *T {
	return &value
}

// Change is what an update does to a text that can be cleared. The zero Change leaves it as it is.
type Change struct {
	value any
	given bool
}

// SetTo gives a text a new value.
func SetTo(text string) Change {
	return Change{value: text, given: true}
}

// Clear takes a text away.
func Clear() Change {
	return Change{given: true}
}

// MarshalJSON writes the new value, or null to clear.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(c.value)
}

// call posts the parameters in their envelope, and takes the output out of its own.
func call[Output any](ctx context.Context, g *Gateway, path string, input any) (*Output, error) {
	body, err := json.Marshal(map[string]any{"json": input})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.baseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if key, ok := ctx.Value(idempotencyKey{}).(string); ok {
		request.Header.Set("Idempotency-Key", key)
	}
	if g.apiKey != "" {
		request.Header.Set("Authorization", "Bearer "+g.apiKey)
	}
	response, err := g.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, failureOf(response)
	}
	var reply struct {
		Result struct {
			Data struct {
				JSON Output `json:"json"`
			} `json:"data"`
		} `json:"result"`
	}
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return nil, err
	}
	return &reply.Result.Data.JSON, nil
}

func failureOf(response *http.Response) error {
	var reply ErrorResponse
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil || reply.Error.JSON.Data.Reason == "" {
		return fmt.Errorf("status %d without the error envelope: is %s the gateway?", response.StatusCode, response.Request.URL)
	}
	return &Error{ErrorData: reply.Error.JSON.Data, Message: reply.Error.JSON.Message}
}

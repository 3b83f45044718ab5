package {{go.package}}

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// maxReply is how much of a reply is read, in bytes.
const maxReply = 64 << 20

// userAgent says who calls.
var userAgent = fmt.Sprintf("{{product}}-go/{{version}} (contract {{contract}}; go %s)",
	strings.TrimPrefix(runtime.Version(), "go"))

// Why an attempt was given up, by its context.
var (
	errAttempt = errors.New("no reply in time")
	errConnect = errors.New("no connection in time")
	errTooLong = fmt.Errorf("the reply is longer than %d MiB", maxReply>>20)
)

// operation is what the contract says of one.
type operation struct {
	// id is its name, such as game.getById.
	id   string
	path string
	// writes says whether it takes an Idempotency-Key.
	writes bool
	// members are those that each output has.
	members []string
}

// connection is what the services of a client call through.
type connection struct {
	baseURL string
	origin  string
	// address is the base URL without the user and password that it may have.
	address string
	// apiKey is a function, as what prints a value with all its fields does not print what a function holds.
	apiKey func() string
	client *http.Client
	clock  Clock
	settings
}

// call is one call of an operation: what its attempts share.
type call struct {
	*connection
	settings
	operation operation
	body      []byte
	failed    FailedCall
}

// perform calls an operation and reads its output.
func perform[Output any](
	ctx context.Context, c *connection, operation operation, input any, options []CallOption,
) (*Output, error) {
	settings, err := c.with(options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation.id, err)
	}
	body, err := json.Marshal(map[string]any{"json": input})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation.id, err)
	}
	call := call{connection: c, settings: settings, operation: operation, body: body}
	call.failed = FailedCall{Operation: operation.id, IdempotencyKey: call.key(), origin: c.origin}
	reply, err := call.run(ctx)
	if err != nil {
		return nil, err
	}
	output := new(Output)
	if err := call.read(reply, output); err != nil {
		return nil, err
	}
	if settings.response != nil {
		*settings.response = reply.response(call.failed.Attempts)
	}
	return output, nil
}

// key returns the Idempotency-Key: the caller's or, of a write, a new one.
func (c *call) key() string {
	key := cmp.Or(c.settings.header.Get("Idempotency-Key"), c.settings.idempotencyKey)
	if key == "" && c.operation.writes {
		return newUUID()
	}
	return key
}

// run attempts a call until there is a reply that is no failure, or one that attempting again would not change.
func (c *call) run(ctx context.Context) (*reply, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, c.cancelled(err)
		}
		c.failed.Attempts++
		reply, err := c.attempt(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, c.cancelled(ctx.Err())
		}
		if err == nil && !reply.isFailure() {
			return reply, nil
		}
		failure, wait, isPassing := c.judge(reply, err)
		if !isPassing || c.failed.Attempts > c.settings.maxRetries {
			return nil, failure
		}
		if err := c.clock.Sleep(ctx, wait); err != nil {
			return nil, c.cancelled(err)
		}
	}
}

// judge returns the error of an attempt that failed, and whether another one might not, after what wait.
func (c *call) judge(reply *reply, err error) (failure error, wait time.Duration, isPassing bool) {
	wait = backoff(c.failed.Attempts)
	if err != nil {
		return c.connectionError(err), wait, isPassingError(err)
	}
	refusal := c.apiError(reply)
	// Another server hasn't found the path: this says nothing of a record.
	if refusal.Reason == "" && reply.status == http.StatusNotFound {
		return c.unexpected(reply, notTheGateways), wait, false
	}
	if refusal.RetryAfter != nil {
		wait = *refusal.RetryAfter
	}
	return refusal, wait, isPassingReply(refusal) && wait < longestWait
}

func (c *call) cancelled(err error) error {
	return fmt.Errorf("%s: cancelled after %s: %w", c.operation.id, plural(c.failed.Attempts, "attempt"), err)
}

// attempt sends the request once and reads the whole reply.
func (c *call) attempt(ctx context.Context) (*reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(c.settings.timeout, func() { cancel(errAttempt) }).Stop()
	connecting := time.AfterFunc(c.settings.connectTimeout, func() { cancel(errConnect) })
	connecting.Stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connecting.Reset(c.settings.connectTimeout) },
		GotConn: func(httptrace.GotConnInfo) { connecting.Stop() },
	})
	defer connecting.Stop()

	request, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	defer response.Body.Close()
	body, err := readBody(response)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	return &reply{status: response.StatusCode, header: response.Header, body: body}, nil
}

// request makes the request of an attempt.
func (c *call) request(ctx context.Context) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.baseURL+c.operation.path, bytes.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	// Without it the transport cannot attempt again by itself, uncounted, what may have reached the service.
	request.GetBody = nil
	header := request.Header
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
	header.Set("User-Agent", userAgent)
	if key := c.apiKey(); key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	if c.failed.Attempts > 1 {
		header.Set("X-Retry-Count", strconv.Itoa(c.failed.Attempts-1))
	}
	for name, values := range c.settings.header {
		header[name] = values
	}
	if c.failed.IdempotencyKey != "" {
		header.Set("Idempotency-Key", c.failed.IdempotencyKey)
	}
	if host := header.Get("Host"); host != "" {
		request.Host = host
	}
	return request, nil
}

func readBody(response *http.Response) ([]byte, error) {
	// What follows is another protocol, which nobody asked for.
	if response.StatusCode == http.StatusSwitchingProtocols {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	if err == nil && len(body) > maxReply {
		err = errTooLong
	}
	return body, err
}

// newUUID returns a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	// It never fails.
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

package {{go.package}}

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"time"
)

// Why an attempt was given up, by its context.
var (
	errAttempt = errors.New("no reply in time")
	errConnect = errors.New("no connection in time")
)

var errProxyPassword = errors.New("the proxy wants a user and a password")

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

// call is one call of an operation: what its attempts share.
type call struct {
	*connection
	settings
	operation operation
	// method, target, the path with its query, and accept, a media type, are those of the request.
	method, target, accept string
	body                   []byte
	failed                 FailedCall
}

// perform calls an operation and returns its output.
func perform[Output any](
	ctx context.Context, c *connection, operation operation, input any, options []CallOption,
) (*Output, error) {
	output := new(Output)
	if err := c.call(ctx, operation, input, output, options); err != nil {
		return nil, err
	}
	return output, nil
}

// call calls an operation and reads its output into what output points to.
func (c *connection) call(ctx context.Context, operation operation, input, output any, options []CallOption) error {
	settings, err := c.begin(ctx, options)
	if err != nil {
		return fmt.Errorf("%s: %w", operation.id, err)
	}
	text, err := encode(input)
	if err != nil {
		return fmt.Errorf("%s: %w", operation.id, err)
	}
	call := c.newCall(operation, enveloped(text), settings)
	reply, err := call.run(ctx, call.attempt, func(reply *reply) error { return call.read(reply, output) })
	if err != nil {
		return err
	}
	if settings.response != nil {
		*settings.response = reply.response(call.failed.Attempts)
	}
	return nil
}

// begin returns the settings of a call. A client that New hasn't made cannot call, nor can any without a context.
func (c *connection) begin(ctx context.Context, options []CallOption) (settings, error) {
	if c == nil {
		return settings{}, usage("the client has no connection: make it with New")
	}
	if ctx == nil {
		return settings{}, usage("the context is nil")
	}
	return c.with(options)
}

func (c *connection) newCall(operation operation, body []byte, settings settings) *call {
	call := &call{connection: c, settings: settings, operation: operation, body: body}
	call.method, call.target, call.accept = http.MethodPost, operation.path, "application/json"
	call.failed = FailedCall{
		Operation:      operation.id,
		IdempotencyKey: call.key(),
		origin:         c.origin,
		isKeyless:      c.apiKey() == "",
	}
	return call
}

// key returns the Idempotency-Key: the caller's or, of a write, a new one.
func (c *call) key() string {
	key := cmp.Or(c.settings.header.Get("Idempotency-Key"), c.settings.idempotencyKey)
	if key == "" && c.operation.writes {
		return newUUID()
	}
	return key
}

// run attempts a call until its reply is read, or attempting again would not change the failure.
func (c *call) run(
	ctx context.Context, attempt func(context.Context) (*reply, error), read func(*reply) error,
) (*reply, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, c.cancelled(err)
		}
		if err := c.turns.take(ctx); err != nil {
			return nil, c.cancelled(err)
		}
		c.failed.Attempts++
		began := time.Now()
		reply, err := attempt(ctx)
		duration := time.Since(began)
		c.turns.giveBack()
		if err != nil && ctx.Err() != nil {
			return nil, c.cancelled(ctx.Err())
		}
		failure, wait := c.judge(reply, err, read)
		c.report(c.attemptOf(reply, failure, duration, wait))
		if wait == nil {
			return reply, failure
		}
		if err := c.clock.Sleep(ctx, *wait); err != nil {
			return nil, c.cancelled(err)
		}
	}
}

// judge returns the failure of an attempt, nil if its reply could be read, and how long to wait for the next attempt, nil if
// there should be none.
func (c *call) judge(reply *reply, err error, read func(*reply) error) (failure error, wait *time.Duration) {
	switch {
	case err != nil:
		return c.connectionError(err), c.waitIf(isPassingError(err), nil)
	case reply.isTooLong:
		return c.unexpected(reply, tooLong), nil
	case !reply.isFailure():
		failure = read(reply)
		// It broke off on its way, as where a connection breaks.
		unexpected, ok := failure.(*UnexpectedReplyError)
		return failure, c.waitIf(ok && unexpected.problem == cutOff, nil)
	}
	refusal := c.apiError(reply)
	// Another server hasn't found the path: this says nothing of a record.
	if refusal.Reason == "" && reply.status == http.StatusNotFound {
		return c.unexpected(reply, notTheGateways), nil
	}
	return refusal, c.waitIf(isPassingReply(refusal), refusal.RetryAfter)
}

// waitIf returns how long to wait for the next attempt; nil if there should be none, or if it would be too long.
func (c *call) waitIf(isPassing bool, retryAfter *time.Duration) *time.Duration {
	if !isPassing || c.failed.Attempts > c.settings.maxRetries {
		return nil
	}
	if retryAfter == nil {
		return Ptr(backoff(c.failed.Attempts))
	}
	if *retryAfter >= longestWait {
		return nil
	}
	return retryAfter
}

func (c *call) cancelled(err error) error {
	return fmt.Errorf("%s: cancelled after %s: %w", c.operation.id, plural(c.failed.Attempts, "attempt"), err)
}

// attempt sends the request once and reads the whole reply.
func (c *call) attempt(ctx context.Context) (*reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(c.settings.timeout, func() { cancel(errAttempt) }).Stop()
	response, err := c.send(ctx, cancel)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	reply := &reply{status: response.StatusCode, header: response.Header}
	if err := reply.readBody(response); err != nil {
		return nil, causeOf(ctx, err)
	}
	return reply, nil
}

// send sends the request once, and returns the reply when its head is there.
func (c *call) send(ctx context.Context, cancel context.CancelCauseFunc) (*http.Response, error) {
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
	if response.StatusCode == http.StatusProxyAuthRequired {
		// The reply of the proxy is nobody's business.
		_ = response.Body.Close()
		return nil, errProxyPassword
	}
	return response, nil
}

// request makes the request of an attempt.
func (c *call) request(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	if c.method == http.MethodPost {
		body = bytes.NewReader(c.body)
	}
	request, err := http.NewRequestWithContext(ctx, c.method, c.baseURL+c.target, body)
	if err != nil {
		return nil, err
	}
	// Without it the transport cannot attempt again by itself, uncounted, what may have reached the service.
	request.GetBody = nil
	header := request.Header
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	header.Set("Accept", c.accept)
	header.Set("User-Agent", c.userAgent)
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

// newUUID returns a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	// It never fails.
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

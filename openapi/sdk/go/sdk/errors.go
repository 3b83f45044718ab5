package {{go.package}}

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// Kinds of errors, to match with [errors.Is]. An error can match several: each matches ErrGateway.
var (
	// ErrGateway matches each failure of a call, but not that its context ended or that an option made no sense.
	ErrGateway = errors.New("call failed")
	// ErrBadRequest matches an [*APIError] with status 400.
	ErrBadRequest = errors.New("bad request")
	// ErrAuthentication matches an [*APIError] with status 401: there is no valid key.
	ErrAuthentication = errors.New("not authenticated")
	// ErrPermissionDenied matches an [*APIError] with status 403: the key has not the scope, or the record another author.
	ErrPermissionDenied = errors.New("permission denied")
	// ErrNotFound matches an [*APIError] with status 404.
	ErrNotFound = errors.New("not found")
	// ErrConflict matches an [*APIError] with status 409.
	ErrConflict = errors.New("conflict")
	// ErrPayloadTooLarge matches an [*APIError] with status 413.
	ErrPayloadTooLarge = errors.New("payload too large")
	// ErrUnprocessable matches an [*APIError] with status 422: the Idempotency-Key belongs to another input.
	ErrUnprocessable = errors.New("unprocessable")
	// ErrRateLimit matches an [*APIError] with status 429.
	ErrRateLimit = errors.New("rate limited")
	// ErrServer matches an [*APIError] with a status from 500 on.
	ErrServer = errors.New("server error")
	// ErrTimeout matches a [*ConnectionError] for want of time.
	ErrTimeout = errors.New("timeout")
)

// kind is what an error of a status matches, and the name that its type has in all SDKs.
type kind struct {
	err  error
	name string
}

var kinds = map[int]kind{
	http.StatusBadRequest:            {ErrBadRequest, "BadRequestError"},
	http.StatusUnauthorized:          {ErrAuthentication, "AuthenticationError"},
	http.StatusForbidden:             {ErrPermissionDenied, "PermissionDeniedError"},
	http.StatusNotFound:              {ErrNotFound, "NotFoundError"},
	http.StatusConflict:              {ErrConflict, "ConflictError"},
	http.StatusRequestEntityTooLarge: {ErrPayloadTooLarge, "PayloadTooLargeError"},
	http.StatusUnprocessableEntity:   {ErrUnprocessable, "UnprocessableError"},
	http.StatusTooManyRequests:       {ErrRateLimit, "RateLimitError"},
}

// FailedCall says which call failed.
type FailedCall struct {
	// Operation is its name, such as game.create.
	Operation string
	// Attempts is how many attempts were made.
	Attempts int
	// IdempotencyKey is what a write was sent with; see [WithIdempotencyKey] for how to repeat it. "" for reads.
	IdempotencyKey string

	origin string
	// isKeyless says that the client has no API key.
	isKeyless bool
}

// UsageError says that an option, an argument or a variable of the environment makes no sense. Nothing was sent.
type UsageError struct {
	text string
}

func usage(format string, values ...any) error {
	return &UsageError{fmt.Sprintf(format, values...)}
}

// Error says what makes no sense, and what would.
func (e *UsageError) Error() string {
	return e.text
}

// APIError is a failure that the service answered.
type APIError struct {
	FailedCall
	// Status is the HTTP status.
	Status int
	// Reason is the cause to branch on, such as GAME_NOT_FOUND; new ones may be added. "" if something before the service
	// answered, such as a proxy.
	Reason string
	// Code is the name of the status, such as NOT_FOUND; "" without a reason.
	Code string
	// Message says what went wrong, for people; "" without a reason.
	Message string
	// Issues are all faults of the input, with the reason VALIDATION_FAILED.
	Issues []Issue
	// Hint says what to do about it; "" if there is none.
	Hint string
	// Docs is the address of the page about the reason; "" if the service names none.
	Docs string
	// RequestID is what the service calls this request in its log; "" if it doesn't say.
	RequestID string
	// RetryAfter is how long to wait before another try; nil if the service doesn't say.
	RetryAfter *time.Duration
	// Header has the headers of the reply.
	Header http.Header
}

// ConnectionError says that there was no reply, or not the whole of one. It wraps the cause.
type ConnectionError struct {
	FailedCall

	cause error
	// limit is what ran out.
	limit time.Duration
}

// UnexpectedReplyError is a reply that is not of {{service}}, or one that this version cannot read.
type UnexpectedReplyError struct {
	FailedCall
	// Status is the HTTP status.
	Status int
	// RequestID is what the service calls this request in its log; "" if it doesn't say.
	RequestID string
	// Body has the first 500 characters of the reply.
	Body string
	// Header has the headers of the reply.
	Header http.Header

	// problem follows the status and the media type in the text.
	problem string
}

// Is reports whether target is the kind of this error.
func (e *APIError) Is(target error) bool {
	if target == ErrServer {
		return e.Status >= 500
	}
	return target == ErrGateway || target == kinds[e.Status].err && target != nil
}

// Is reports whether target is the kind of this error.
func (e *ConnectionError) Is(target error) bool {
	return target == ErrGateway || target == ErrTimeout && e.isTimeout()
}

// Is reports whether target is the kind of this error.
func (e *UnexpectedReplyError) Is(target error) bool {
	return target == ErrGateway
}

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error {
	return e.cause
}

func (e *ConnectionError) isTimeout() bool {
	return e.cause == errAttempt || e.cause == errConnect
}

func (c *call) connectionError(cause error) *ConnectionError {
	limit := c.settings.timeout
	if cause == errConnect {
		limit = c.settings.connectTimeout
	}
	return &ConnectionError{FailedCall: c.failed, cause: cause, limit: limit}
}

func (c *call) unexpected(r *reply, problem string) *UnexpectedReplyError {
	return &UnexpectedReplyError{
		FailedCall: c.failed,
		Status:     r.status,
		RequestID:  r.header.Get("X-Request-Id"),
		Body:       firstOf(strings.ToValidUTF8(string(r.body), string(utf8.RuneError)), shownBody),
		Header:     r.header,
		problem:    problem,
	}
}

// apiError reads a failure. Without the envelope, as from a proxy, there is no reason.
func (c *call) apiError(r *reply) *APIError {
	var envelope struct {
		Error struct {
			JSON struct {
				Message string `json:"message"`
				Data    struct {
					Reason    string  `json:"reason"`
					Code      string  `json:"code"`
					Issues    []Issue `json:"issues"`
					Hint      string  `json:"hint"`
					Docs      string  `json:"docs"`
					RequestID string  `json:"requestId"`
				} `json:"data"`
			} `json:"json"`
		} `json:"error"`
	}
	failure := &APIError{
		FailedCall: c.failed,
		Status:     r.status,
		RequestID:  r.header.Get("X-Request-Id"),
		RetryAfter: retryAfterOf(r.header, c.clock.Now),
		Header:     r.header,
	}
	// What has another type than expected is left out, and the rest read.
	var mistyped *json.UnmarshalTypeError
	if err := json.Unmarshal(r.body, &envelope); err != nil && !errors.As(err, &mistyped) {
		return failure
	}
	data := envelope.Error.JSON.Data
	if data.Reason == "" {
		return failure
	}
	failure.Message = envelope.Error.JSON.Message
	failure.Reason, failure.Code, failure.Issues, failure.Hint = data.Reason, data.Code, data.Issues, data.Hint
	if failure.Docs = data.Docs; strings.HasPrefix(failure.Docs, "/") {
		failure.Docs = c.baseURL + failure.Docs
	}
	if data.RequestID != "" {
		failure.RequestID = data.RequestID
	}
	return failure
}

package {{go.package}}

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"time"
)

// Attempt is what the hook of [WithAttemptHook] gets. It holds no key, no body and no header.
type Attempt struct {
	// Operation is the name of the operation, such as game.list.
	Operation string
	// Number counts the attempts of a call, from 1.
	Number int
	// Status is the HTTP status; 0 if no whole reply came.
	Status int
	// Reason is the gateway's reason of a failure, such as OVERLOADED; "" without one.
	Reason string
	// Error is the type of the error by the name that all SDKs share, such as ServerError or ApiTimeoutError; "" on success.
	Error string
	// RequestID is what the service calls the request in its log; "" if it doesn't say.
	RequestID string
	// Duration is how long this attempt took, without waits.
	Duration time.Duration
	// Wait is how long the client waits before the next attempt; nil if there is none.
	Wait *time.Duration
}

// String says it in the line that {{environment}}_LOG=debug writes to standard error.
func (a Attempt) String() string {
	text := fmt.Sprintf("{{product}}: %s attempt %d: ", a.Operation, a.Number)
	if a.Status != 0 {
		text += strconv.Itoa(a.Status) + " "
	}
	switch {
	case a.Reason != "":
		text += a.Reason + " "
	case a.Error != "":
		text += a.Error + " "
	}
	text += fmt.Sprintf("in %d ms", a.Duration.Round(time.Millisecond).Milliseconds())
	if a.RequestID != "" {
		text += ", request " + a.RequestID
	}
	if a.Wait != nil {
		text += ", again in " + seconds(a.Wait.Round(10*time.Millisecond))
	}
	return oneLine(text)
}

// attemptOf describes the attempt that has just ended. The reply is nil if there is no whole one, the failure if there is none.
func (c *call) attemptOf(reply *reply, failure error, duration time.Duration, wait *time.Duration) Attempt {
	attempt := Attempt{
		Operation: c.operation.id,
		Number:    c.failed.Attempts,
		Error:     typeNameOf(failure),
		Duration:  duration,
		Wait:      wait,
	}
	if reply != nil {
		attempt.Status = reply.status
		attempt.RequestID = reply.header.Get("X-Request-Id")
	}
	if refusal, ok := failure.(*APIError); ok {
		attempt.Reason, attempt.RequestID = refusal.Reason, refusal.RequestID
	}
	return attempt
}

// report tells the caller's hook of an attempt, and the log. A hook that panics breaks no call.
func (c *connection) report(attempt Attempt) {
	if c.isLogging {
		fmt.Fprintln(os.Stderr, attempt)
	}
	if c.hook == nil {
		return
	}
	defer func() { _ = recover() }()
	c.hook(attempt)
}

// typeNameOf returns the name that the type of an error has in all SDKs.
func typeNameOf(failure error) string {
	switch failure := failure.(type) {
	case nil:
		return ""
	case *APIError:
		if failure.Status >= 500 {
			return "ServerError"
		}
		if kind, ok := kinds[failure.Status]; ok {
			return kind.name
		}
		return "ApiError"
	case *ConnectionError:
		if failure.isTimeout() {
			return "ApiTimeoutError"
		}
		return "ApiConnectionError"
	}
	return "UnexpectedReplyError"
}

func seconds(duration time.Duration) string {
	return strconv.FormatFloat(duration.Seconds(), 'f', -1, 64) + " s"
}

// wholeSeconds rounds up, so that the wait is never too short.
func wholeSeconds(duration time.Duration) string {
	return strconv.FormatFloat(math.Ceil(duration.Seconds()), 'f', 0, 64) + " s"
}

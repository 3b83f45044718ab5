package main

import (
	"errors"

	gateway "{{go.module}}"
)

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
	Events    []event        `json:"events"`
}

// event is an attempt as the hook gets it.
type event struct {
	Operation string   `json:"operation"`
	Attempt   int      `json:"attempt"`
	Status    any      `json:"status"`
	Reason    any      `json:"reason"`
	Error     any      `json:"error"`
	RequestID any      `json:"requestId"`
	Wait      *float64 `json:"wait"`
}

func eventOf(attempt gateway.Attempt) event {
	event := event{
		Operation: attempt.Operation,
		Attempt:   attempt.Number,
		Reason:    textOrNull(attempt.Reason),
		Error:     textOrNull(attempt.Error),
		RequestID: textOrNull(attempt.RequestID),
	}
	if attempt.Status != 0 {
		event.Status = attempt.Status
	}
	if attempt.Wait != nil {
		event.Wait = gateway.Ptr(attempt.Wait.Seconds())
	}
	return event
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

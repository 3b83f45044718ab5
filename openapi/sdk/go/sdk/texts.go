package {{go.package}}

import (
	"cmp"
	"fmt"
	"strings"
)

// How much of what came is shown.
const (
	shownIssues = 10
	shownBody   = 500
	shownFault  = 200
)

// Error says in one line what failed, why, where in the input, and what to do about it.
func (e *APIError) Error() string {
	if e.Reason == "" {
		return oneLine(fmt.Sprintf("%s: %d without the gateway's error envelope (%s). %s",
			e.Operation, e.Status, cmp.Or(mediaTypeOf(e.Header), "no content type"), e.question()) + e.end())
	}
	text := fmt.Sprintf("%s: %d %s: %s", e.Operation, e.Status, e.Reason, e.Message)
	if len(e.Issues) > 0 {
		text += " Issues: " + textOf(e.Issues) + "."
	}
	hint := e.Hint
	if e.Reason == "KEY_MISSING" && e.isKeyless {
		hint = "Give WithAPIKey, or set {{environment}}_API_KEY."
	}
	if hint != "" {
		text += " Hint: " + hint
	}
	return oneLine(text + e.end())
}

// end says when to come back, of which request the service knows, and after how many attempts.
func (e *APIError) end() string {
	if e.RetryAfter != nil && *e.RetryAfter > 0 {
		return " Retry after " + wholeSeconds(*e.RetryAfter) + "." + e.tail(e.RequestID)
	}
	return e.tail(e.RequestID)
}

// Error says in one line what was called, and why there is no reply.
func (e *ConnectionError) Error() string {
	attempts := plural(e.Attempts, "attempt")
	switch e.cause {
	case errAttempt:
		return fmt.Sprintf("%s: no reply from %s within %s, %s", e.Operation, e.origin, seconds(e.limit), attempts)
	case errConnect:
		return fmt.Sprintf("%s: no connection to %s within %s, %s", e.Operation, e.origin, seconds(e.limit), attempts)
	}
	return oneLine(fmt.Sprintf("%s: no reply from %s after %s: %v", e.Operation, e.origin, attempts, e.cause))
}

// Error says in one line what came, and from where.
func (e *UnexpectedReplyError) Error() string {
	location := e.Header.Get("Location")
	if e.Status >= 300 && e.Status <= 399 && location != "" {
		return oneLine(fmt.Sprintf("%s: %d to %s, which is not followed: give that base URL if it is right.",
			e.Operation, e.Status, location))
	}
	return oneLine(fmt.Sprintf("%s: %d %s%s. %s%s",
		e.Operation, e.Status, cmp.Or(mediaTypeOf(e.Header), "(no content type)"), e.problem, e.question(), e.tail(e.RequestID)))
}

func (c *FailedCall) question() string {
	return "Is " + c.origin + " {{service}}?"
}

// textOf lists the first issues, and counts the others.
func textOf(issues []Issue) string {
	var texts []string
	for _, issue := range issues[:min(shownIssues, len(issues))] {
		path := issue.Path
		if path == "" {
			path = "(input)"
		}
		texts = append(texts, path+": "+issue.Message)
	}
	if more := len(issues) - shownIssues; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// tail names the request, and the attempts if there were more than one.
func (c *FailedCall) tail(requestID string) string {
	var parts []string
	if requestID != "" {
		parts = append(parts, "request "+requestID)
	}
	if c.Attempts > 1 {
		parts = append(parts, "after "+plural(c.Attempts, "attempt"))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func plural(count int, word string) string {
	if count != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", count, word)
}

func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

func firstOf(text string, characters int) string {
	for at := range text {
		if characters == 0 {
			return text[:at]
		}
		characters--
	}
	return text
}

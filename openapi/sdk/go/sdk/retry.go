package {{go.package}}

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"
)

const (
	// longestWait is what a caller should not be kept waiting for: then the error says how long it would be.
	longestWait  = time.Minute
	firstBackoff = 500 * time.Millisecond
	longBackoff  = 8 * time.Second
)

// passing are the statuses of failures that may not come again.
var passing = []int{
	http.StatusRequestTimeout,
	http.StatusTooManyRequests,
	http.StatusInternalServerError,
	http.StatusBadGateway,
	http.StatusServiceUnavailable,
	http.StatusGatewayTimeout,
}

// backoff returns how long to wait after an attempt, counted from 1, that says nothing of it: twice as long each time, less
// a random part, so that clients which failed together don't come again together.
func backoff(attempt int) time.Duration {
	wait := longBackoff
	if doublings := attempt - 1; doublings < 4 {
		wait = min(firstBackoff<<doublings, longBackoff)
	}
	return wait - rand.N(wait/4)
}

// isPassingReply says whether another attempt might not fail.
func isPassingReply(refusal *APIError) bool {
	switch refusal.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	return isPassingStatus(refusal.Status) ||
		refusal.Status == http.StatusConflict && refusal.Reason == "IDEMPOTENCY_IN_PROGRESS"
}

func isPassingStatus(status int) bool {
	return slices.Contains(passing, status)
}

// isPassingError says whether another attempt might not fail. A certificate stays wrong, and a password unknown.
func isPassingError(err error) bool {
	var certificate *tls.CertificateVerificationError
	return !errors.As(err, &certificate) && !errors.Is(err, errProxyPassword)
}

// causeOf returns why an attempt ended: what its context was ended for, or else the error without the URL, which is known.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause == errAttempt || cause == errConnect {
		return cause
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}

// secondsForm is that of seconds in Retry-After; some services send a fraction.
var secondsForm = regexp.MustCompile(`^\d+(\.\d+)?$`)

// retryAfterOf reads Retry-After, in seconds or as a date; nil if there is none, or none that can be read.
func retryAfterOf(header http.Header, now func() time.Time) *time.Duration {
	value := header.Get("Retry-After")
	if secondsForm.MatchString(value) {
		// A number out of range is infinite.
		seconds, _ := strconv.ParseFloat(value, 64)
		return Ptr(time.Duration(min(seconds, 1<<31) * float64(time.Second)))
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return nil
	}
	from, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		from = now()
	}
	return Ptr(max(0, until.Sub(from)))
}

package programs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"testing"
	"time"

	gateway "{{go.module}}"
)

// overloadedOnce refuses the first request of a server.
func overloadedOnce() http.HandlerFunc {
	isOverloaded := true
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "2dd0")
		if isOverloaded {
			isOverloaded = false
			w.Header().Set("Retry-After", "0.375")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"error":{"json":{"message":"","data":{"reason":"OVERLOADED"}}}}`)
			return
		}
		stats(w, r)
	}
}

func TestHookGetsEachAttempt(t *testing.T) {
	var attempts []gateway.Attempt
	client, _ := serve(t, overloadedOnce(), gateway.WithAttemptHook(func(attempt gateway.Attempt) {
		if attempt.Duration <= 0 || attempt.Duration > 10*time.Second {
			t.Errorf("attempt %d took %v", attempt.Number, attempt.Duration)
		}
		attempt.Duration = 0
		attempts = append(attempts, attempt)
		panic("a fault of the hook")
	}))
	if _, err := client.Game.GetTypeStats(t.Context()); err != nil {
		t.Fatal(err)
	}
	expected := []gateway.Attempt{
		{
			Operation: "game.getTypeStats",
			Number:    1,
			Status:    503,
			Reason:    "OVERLOADED",
			Error:     "ServerError",
			RequestID: "2dd0",
			Wait:      gateway.Ptr(375 * time.Millisecond),
		},
		{Operation: "game.getTypeStats", Number: 2, Status: 200, RequestID: "2dd0"},
	}
	if !reflect.DeepEqual(attempts, expected) {
		t.Errorf("the attempts are %+v", attempts)
	}
}

func TestHookGetsNoAttemptThatTheCallerCancelled(t *testing.T) {
	count := 0
	client, _ := serve(t, hang, gateway.WithAttemptHook(func(gateway.Attempt) { count++ }))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.User.Me(ctx); err == nil || count != 0 {
		t.Errorf("%v after %d attempts", err, count)
	}
}

func TestLogHasALineForEachAttempt(t *testing.T) {
	for value, pattern := range map[string]string{
		"debug": `^{{product}}: game\.getTypeStats attempt 1: 503 OVERLOADED in \d+ ms, request 2dd0, again in 0\.38 s
{{product}}: game\.getTypeStats attempt 2: 200 in \d+ ms, request 2dd0
$`,
		"info": `^$`,
	} {
		t.Setenv("{{environment}}_LOG", value)
		calls := 0
		client, _ := serve(t, overloadedOnce(), gateway.WithAttemptHook(func(gateway.Attempt) { calls++ }))
		text := standardErrorOf(t, func() {
			if _, err := client.Game.GetTypeStats(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if !regexp.MustCompile(pattern).MatchString(text) || calls != 2 {
			t.Errorf("%s: the hook got %d attempts, and the log has %q", value, calls, text)
		}
	}
}

func TestLineOfAnAttempt(t *testing.T) {
	attempt := gateway.Attempt{Operation: "game.list", Number: 1, Duration: 2600 * time.Microsecond}
	for line, each := range map[string]func(gateway.Attempt) gateway.Attempt{
		"{{product}}: game.list attempt 1: ApiConnectionError in 3 ms, again in 0.41 s": func(a gateway.Attempt) gateway.Attempt {
			a.Error, a.Wait = "ApiConnectionError", gateway.Ptr(412*time.Millisecond)
			return a
		},
		"{{product}}: game.list attempt 1: 200 UnexpectedReplyError in 3 ms, request 2dd2": func(a gateway.Attempt) gateway.Attempt {
			a.Status, a.Error, a.RequestID = 200, "UnexpectedReplyError", "2dd2"
			return a
		},
		"{{product}}: game.list attempt 1: 429 RATE_LIMITED forged in 3 ms, again in 30 s": func(a gateway.Attempt) gateway.Attempt {
			a.Status, a.Reason, a.Error, a.Wait = 429, "RATE_LIMITED\nforged", "RateLimitError", gateway.Ptr(30*time.Second)
			return a
		},
	} {
		if text := each(attempt).String(); text != line {
			t.Errorf("%q instead of %q", text, line)
		}
	}
}

// standardErrorOf returns what is written to standard error meanwhile.
func standardErrorOf(t *testing.T, do func()) string {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	usual := os.Stderr
	os.Stderr = writer
	do()
	os.Stderr = usual
	writer.Close()
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package {{go.package}}

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Response is what came beside the result of a call; see [WithResponse].
type Response struct {
	// Status is the HTTP status, 200.
	Status int
	// Header has the headers of the reply.
	Header http.Header
	// RequestID is what the service calls this request in its log; "" if it doesn't say.
	RequestID string
	// RateLimit is what is left of the rate; nil if the service doesn't say.
	RateLimit *RateLimit
	// Replayed says that the write had been done before, with the same Idempotency-Key, and this is that answer.
	Replayed bool
	// Attempts is how many attempts were made, this one included.
	Attempts int
	// Body is the whole reply as it came.
	Body string
}

// RateLimit is how much of a rate is left.
type RateLimit struct {
	// Policy is the name of the rate, such as read.
	Policy string
	// Remaining is how many calls are left.
	Remaining int
	// Reset is when there will be more, from the reply on.
	Reset time.Duration
}

// longestBody is how much of a reply is read, in bytes.
const longestBody = 64 << 20

// reply is an HTTP reply as it came.
type reply struct {
	status int
	header http.Header
	body   []byte
	// isTooLong says that the body is only its beginning.
	isTooLong bool
}

// readBody reads the body, but not more than a client should keep in memory.
func (r *reply) readBody(response *http.Response) error {
	// What follows is another protocol, for which no call asks.
	if response.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, longestBody+1))
	if r.isTooLong = len(body) > longestBody; r.isTooLong {
		body = bytes.Clone(body[:shownBody*utf8.UTFMax])
	}
	r.body = body
	return err
}

func (r *reply) isFailure() bool {
	return r.status >= 400 && r.status <= 599
}

func (r *reply) response(attempts int) Response {
	return Response{
		Status:    r.status,
		Header:    r.header,
		RequestID: r.header.Get("X-Request-Id"),
		RateLimit: rateLimitOf(r.header.Get("RateLimit")),
		Replayed:  r.header.Get("Idempotency-Replayed") == "true",
		Attempts:  attempts,
		Body:      string(r.body),
	}
}

var rateLimit = regexp.MustCompile(`^"([^"\\]*)"\s*;\s*r=(\d+)\s*;\s*t=(\d+)$`)

// rateLimitOf reads `"read";r=599;t=1`.
func rateLimitOf(value string) *RateLimit {
	parts := rateLimit.FindStringSubmatch(value)
	if parts == nil {
		return nil
	}
	remaining, err := strconv.Atoi(parts[2])
	seconds, err2 := strconv.ParseInt(parts[3], 10, 32)
	if err != nil || err2 != nil {
		return nil
	}
	return &RateLimit{Policy: parts[1], Remaining: remaining, Reset: time.Duration(seconds) * time.Second}
}

// mediaTypeOf returns the media type without its parameters, in lower case; "" if there is none.
func mediaTypeOf(header http.Header) string {
	value, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(value))
}

// envelope is what an output comes in.
type envelope struct {
	Result struct {
		Data struct {
			JSON json.RawMessage `json:"json"`
		} `json:"data"`
	} `json:"result"`
}

// read takes the output out of a reply that is no failure.
func (c *call) read(r *reply, output any) error {
	if r.status != http.StatusOK {
		return c.unexpected(r, notTheGateways)
	}
	var found envelope
	err := json.Unmarshal(r.body, &found)
	data := found.Result.Data.JSON
	var members map[string]json.RawMessage
	if err != nil || json.Unmarshal(data, &members) != nil || members == nil {
		return c.unexpected(r, r.envelopeFault())
	}
	for _, name := range c.operation.members {
		if _, ok := members[name]; !ok {
			return c.unexpected(r, " whose output lacks "+name)
		}
	}
	// Followed, it would lead here for ever.
	if next := textIn(members["nextCursor"]); next != "" && next == c.cursor() {
		return c.unexpected(r, " whose nextCursor is the cursor that was sent")
	}
	if output == nil {
		return nil
	}
	if err := json.Unmarshal(data, output); err != nil {
		return c.unexpected(r, " whose output is not readable: "+firstOf(typeFault(data, output, err), shownFault))
	}
	return nil
}

// cursor returns the cursor that was sent; "" if there was none.
func (c *call) cursor() string {
	var sent struct {
		JSON struct {
			Cursor json.RawMessage `json:"cursor"`
		} `json:"json"`
	}
	if err := json.Unmarshal(c.body, &sent); err != nil {
		return ""
	}
	return textIn(sent.JSON.Cursor)
}

// textIn returns the text that JSON holds; "" if it holds none.
func textIn(value json.RawMessage) string {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return ""
	}
	return text
}

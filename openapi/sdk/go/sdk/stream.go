// {{#events}}
package {{go.package}}

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// usualSilence is how long a stream may be silent, if no option says. The service says something every ten seconds.
	usualSilence = 30 * time.Second
	eventStream  = "text/event-stream"
)

// Why a stream was given up.
var (
	errSilence     = errors.New("the stream is silent")
	errEnded       = errors.New("the stream ended before its first message")
	errLongMessage = errors.New("a message of more than 64 MiB")
)

// WithSilence says after what time without a sign of life Tail and Follow give a stream up, and open it anew. The default is 30 s.
// Other calls take no notice of it.
func WithSilence(silence time.Duration) CallOption {
	return callOption(func(s *settings) error {
		if silence <= 0 {
			return usage("the silence must be more than 0, and is %v", silence)
		}
		s.silence = silence
		return nil
	})
}

// stream is an open stream of events.
type stream struct {
	*messages
	call  *call
	reply *reply
	// first is the message that came when it was opened.
	first  *message
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.Closer
}

// open opens a stream of an operation, as often as calls are attempted, which takes none of their turns.
func (c *connection) open(ctx context.Context, operation operation, input any, settings settings) (*stream, error) {
	text, err := encode(input)
	if err != nil {
		return nil, err
	}
	body := enveloped(text)
	own := *c
	own.turns, own.client = nil, c.streams
	call := own.newCall(operation, body, settings)
	call.method, call.accept = http.MethodGet, eventStream
	call.target = operation.path + "?input=" + url.QueryEscape(string(body))
	var opened *stream
	attempt := func(ctx context.Context) (reply *reply, err error) {
		opened, reply, err = call.attemptStream(ctx)
		return reply, err
	}
	read := func(reply *reply) error {
		if opened == nil {
			return call.unexpected(reply, ", which is no stream of events")
		}
		return nil
	}
	reply, err := call.run(ctx, attempt, read)
	if err != nil {
		return nil, err
	}
	if settings.response != nil {
		*settings.response = reply.response(call.failed.Attempts)
	}
	return opened, nil
}

// attemptStream makes an attempt to open a stream, which lasts until its first message. There is no stream if the reply is none.
func (c *call) attemptStream(ctx context.Context) (*stream, *reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.settings.timeout, func() { cancel(errAttempt) })
	defer timer.Stop()
	response, err := c.send(ctx, cancel)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	opened := &stream{call: c, ctx: ctx, cancel: cancel, body: response.Body}
	opened.reply = &reply{status: response.StatusCode, header: response.Header}
	if response.StatusCode != http.StatusOK || mediaTypeOf(response.Header) != eventStream {
		defer opened.close()
		if err := opened.reply.readBody(response); err != nil {
			return nil, nil, causeOf(ctx, err)
		}
		return nil, opened.reply, nil
	}
	opened.messages = messagesIn(response.Body, func() {})
	first, err := opened.messages.next()
	if err != nil {
		defer opened.close()
		if errors.Is(err, io.EOF) {
			return nil, nil, errEnded
		}
		return nil, nil, causeOf(ctx, err)
	}
	if first.event == "serialized-error" {
		defer opened.close()
		return nil, opened.failure(first), nil
	}
	opened.first = &first
	return opened, opened.reply, nil
}

// next returns the next message, or why the stream is at its end.
func (s *stream) next() (message, error) {
	if first := s.first; first != nil {
		s.first = nil
		return *first, nil
	}
	silence := cmp.Or(s.call.settings.silence, usualSilence)
	timer := time.AfterFunc(silence, func() { s.cancel(errSilence) })
	defer timer.Stop()
	s.onLine = func() { timer.Reset(silence) }
	return s.messages.next()
}

// failure returns the reply that a message of a failure stands for.
func (s *stream) failure(message message) *reply {
	header := s.reply.header.Clone()
	var data struct {
		JSON struct {
			Data struct {
				HTTPStatus int `json:"httpStatus"`
			} `json:"data"`
		} `json:"json"`
	}
	// What cannot be read says nothing of a status.
	_ = json.Unmarshal([]byte(message.data), &data)
	status := cmp.Or(data.JSON.Data.HTTPStatus, http.StatusInternalServerError)
	if retry := s.retry; retry != nil && isPassingStatus(status) {
		header.Set("Retry-After", strconv.FormatFloat(retry.Seconds(), 'f', -1, 64))
	}
	return &reply{status: status, header: header, body: []byte(`{"error":` + message.data + `}`)}
}

// pause is how long to stay away after a break.
func (s *stream) pause() time.Duration {
	if s.retry != nil && *s.retry < longestWait {
		return *s.retry
	}
	return backoff(1)
}

func (s *stream) close() {
	s.cancel(nil)
	// Nobody wants what may come still.
	_ = s.body.Close()
}
// {{/events}}

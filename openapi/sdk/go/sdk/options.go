package {{go.package}}

import (
	"maps"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

var errNoOption = usage("an option is nil")

// Option is an option of [New].
type Option interface {
	applyToClient(*config) error
}

// CallOption is an option of one call.
type CallOption interface {
	applyToCall(*settings) error
}

// SharedOption is an option of [New], then for all calls, or of one call.
type SharedOption func(*settings) error

func (o SharedOption) applyToClient(c *config) error { return o.applyToCall(&c.settings) }

func (o SharedOption) applyToCall(s *settings) error {
	if o == nil {
		return errNoOption
	}
	return o(s)
}

// ClockOption is an option of [New], or of what else goes by a clock.
type ClockOption struct{ clock Clock }

func (o ClockOption) applyToClient(c *config) (err error) {
	c.clock, err = o.given()
	return err
}

// given returns the clock, if there is one.
func (o ClockOption) given() (Clock, error) {
	if o.clock == nil {
		return nil, usage("the clock is nil")
	}
	return o.clock, nil
}

type clientOption func(*config) error

func (o clientOption) applyToClient(c *config) error { return o(c) }

type callOption func(*settings) error

func (o callOption) applyToCall(s *settings) error { return o(s) }

// config is what New gathers, and With changes.
type config struct {
	baseURL string
	// apiKey is a function, as what prints a value with all its fields does not print what a function holds.
	apiKey func() string
	// client is nil until there is one.
	client *http.Client
	// streams is the client of what takes no turn.
	streams *http.Client
	// proxies is nil if the client is the caller's.
	proxies proxies
	clock   Clock
	// turns are shared by all clients that share connections.
	turns     turns
	appName   string
	hook      func(Attempt)
	isLogging bool
	settings
}

// settings are what a client has for all calls, and each call can change.
type settings struct {
	timeout        time.Duration
	connectTimeout time.Duration
	maxRetries     int
	// header wins over what the client itself would send.
	header         http.Header
	idempotencyKey string
	response       *Response
	// maxRecords is 0 for all.
	maxRecords int
	// pollInterval is 0 for the usual one, as is silence.
	pollInterval time.Duration
	silence      time.Duration
}

// WithBaseURL says where the service is, such as https://api.example.com. The default is the environment variable
// {{environment}}_URL.
func WithBaseURL(baseURL string) Option {
	return clientOption(func(c *config) error {
		c.baseURL = baseURL
		return nil
	})
}

// WithAPIKey sends an API key; the empty one sends none, so that only public operations can be called. The default is the
// environment variable {{environment}}_API_KEY, or none.
func WithAPIKey(key string) Option {
	return clientOption(func(c *config) error {
		c.apiKey = func() string { return key }
		return nil
	})
}

// WithHTTPClient sends calls by an HTTP client of your own, say for its proxy, its certificates or a transport that traces.
// Redirects are not followed with it, either, and only its own transport decides about proxies. Leave its Timeout alone: see
// [WithTimeout].
func WithHTTPClient(client *http.Client) Option {
	return clientOption(func(c *config) error {
		if client == nil {
			return usage("the HTTP client is nil")
		}
		c.client, c.streams, c.proxies = client, client, nil
		return nil
	})
}

// WithMaxConnections limits how many calls are under way at once, and so how many connections there are, for a client and those
// made from it. The default is 100. Other calls wait for their turn, before the time of their attempt begins. A client that
// [Client.With] makes with another limit has connections of its own.
func WithMaxConnections(connections int) Option {
	return clientOption(func(c *config) error {
		if connections < 1 {
			return usage("the most connections must be 1 or more, and are %d", connections)
		}
		c.turns = make(turns, connections)
		if c.proxies != nil {
			c.client, c.proxies = nil, nil
		}
		return nil
	})
}

// WithClock is for tests: waits between attempts, and between pages of a feed, go by this clock.
func WithClock(clock Clock) ClockOption {
	return ClockOption{clock}
}

// WithAppName names the program that calls, such as my-app/1.2, at the end of the User-Agent.
func WithAppName(name string) Option {
	return clientOption(func(c *config) error {
		program, version, hasVersion := strings.Cut(name, "/")
		if !isToken(program) || hasVersion && !isToken(version) {
			return usage("the app name must be a name or name/version, such as my-app/1.2, without spaces")
		}
		c.appName = name
		return nil
	})
}

// WithAttemptHook calls a function after each attempt that ended by itself, not after one that the caller's context ended.
// The call goes on when the function returns. Several goroutines may run it at once. If it panics, the call takes no notice.
// Nil is no hook.
func WithAttemptHook(hook func(Attempt)) Option {
	return clientOption(func(c *config) error {
		c.hook = hook
		return nil
	})
}

// WithTimeout limits each attempt: to connect, to send and to read the whole reply. The default is 30 s.
func WithTimeout(timeout time.Duration) SharedOption {
	return func(s *settings) error {
		if timeout <= 0 {
			return usage("the timeout must be more than 0, and is %v", timeout)
		}
		s.timeout = timeout
		return nil
	}
}

// WithConnectTimeout limits how long each attempt may take to have a connection. The default is 5 s.
func WithConnectTimeout(timeout time.Duration) SharedOption {
	return func(s *settings) error {
		if timeout <= 0 {
			return usage("the connect timeout must be more than 0, and is %v", timeout)
		}
		s.connectTimeout = timeout
		return nil
	}
}

// WithMaxRetries says how often a call is attempted again after the first time. The default is 2; 0 is never.
func WithMaxRetries(retries int) SharedOption {
	return func(s *settings) error {
		if retries < 0 {
			return usage("the retries must be 0 or more, and are %d", retries)
		}
		s.maxRetries = retries
		return nil
	}
}

// WithHeader sends a header, in place of the client's own of that name. A header of a call wins over the client's.
func WithHeader(name, value string) SharedOption {
	return func(s *settings) error {
		if !isToken(name) {
			return usage("%q is no name of a header", name)
		}
		if !isHeaderValue(value) {
			return usage("the value of the header %s has characters that a header cannot hold", name)
		}
		s.header.Set(name, value)
		return nil
	}
}

// WithIdempotencyKey names a write: repeated with the same key, a value of your own such as a UUID, it is not done again, but
// answered the same. Without it each write makes a key of its own; operations that only read need none.
func WithIdempotencyKey(key string) CallOption {
	return callOption(func(s *settings) error {
		if key == "" || !isHeaderValue(key) {
			return usage("the idempotency key is empty, or has characters that a header cannot hold")
		}
		s.idempotencyKey = key
		return nil
	})
}

// WithMaxRecords ends ListAll after this many records, without a page that is not needed. Limit of an input is only the size of
// pages. Other calls take no notice of it.
func WithMaxRecords(records int) CallOption {
	return callOption(func(s *settings) error {
		if records < 1 {
			return usage("the most records must be 1 or more, and are %d", records)
		}
		s.maxRecords = records
		return nil
	})
}

// WithResponse fills in what came beside the result of a successful call; of several pages, beside the last one's.
func WithResponse(response *Response) CallOption {
	return callOption(func(s *settings) error {
		s.response = response
		return nil
	})
}

// with returns the settings of one call.
func (s settings) with(options []CallOption) (settings, error) {
	s.header = maps.Clone(s.header)
	for _, option := range options {
		if option == nil {
			return s, errNoOption
		}
		if err := option.applyToCall(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// isToken reports whether a text is a token of HTTP, such as the name of a header.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r)
	})
}

func isHeaderValue(value string) bool {
	return utf8.ValidString(value) &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

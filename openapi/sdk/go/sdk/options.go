package {{go.package}}

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

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

func (o SharedOption) applyToClient(c *config) error { return o(&c.settings) }

func (o SharedOption) applyToCall(s *settings) error { return o(s) }

type clientOption func(*config) error

func (o clientOption) applyToClient(c *config) error { return o(c) }

type callOption func(*settings) error

func (o callOption) applyToCall(s *settings) error { return o(s) }

// config is what New gathers.
type config struct {
	baseURL string
	apiKey  string
	client  *http.Client
	clock   Clock
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
		c.apiKey = key
		return nil
	})
}

// WithHTTPClient sends calls by an HTTP client of your own, say for its proxy or its certificates. Redirects are not
// followed with it, either. Leave its Timeout alone: see [WithTimeout].
func WithHTTPClient(client *http.Client) Option {
	return clientOption(func(c *config) error {
		if client == nil {
			return errors.New("the HTTP client is nil")
		}
		c.client = client
		return nil
	})
}

// WithClock is for tests: waits between attempts go by this clock.
func WithClock(clock Clock) Option {
	return clientOption(func(c *config) error {
		if clock == nil {
			return errors.New("the clock is nil")
		}
		c.clock = clock
		return nil
	})
}

// WithTimeout limits each attempt: to connect, to send and to read the whole reply. The default is 30 s.
func WithTimeout(timeout time.Duration) SharedOption {
	return func(s *settings) error {
		if timeout <= 0 {
			return fmt.Errorf("the timeout must be more than 0, and is %v", timeout)
		}
		s.timeout = timeout
		return nil
	}
}

// WithConnectTimeout limits how long each attempt may take to have a connection. The default is 5 s.
func WithConnectTimeout(timeout time.Duration) SharedOption {
	return func(s *settings) error {
		if timeout <= 0 {
			return fmt.Errorf("the connect timeout must be more than 0, and is %v", timeout)
		}
		s.connectTimeout = timeout
		return nil
	}
}

// WithMaxRetries says how often a call is attempted again after the first time. The default is 2; 0 is never.
func WithMaxRetries(retries int) SharedOption {
	return func(s *settings) error {
		if retries < 0 {
			return fmt.Errorf("the retries must be 0 or more, and are %d", retries)
		}
		s.maxRetries = retries
		return nil
	}
}

// WithHeader sends a header, in place of the client's own of that name. A header of a call wins over the client's.
func WithHeader(name, value string) SharedOption {
	return func(s *settings) error {
		if !isHeaderName(name) {
			return fmt.Errorf("%q is no name of a header", name)
		}
		if !isHeaderValue(value) {
			return fmt.Errorf("the value of the header %s has characters that a header cannot hold", name)
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
			return errors.New("the idempotency key is empty, or has characters that a header cannot hold")
		}
		s.idempotencyKey = key
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

// New makes a client. Without options it reads from the environment where the service is and what key to send.
//
// It fails if there is no base URL, or one that is no http or https URL, and if an option makes no sense.
func New(options ...Option) (*Client, error) {
	c := config{
		baseURL: os.Getenv("{{environment}}_URL"),
		apiKey:  os.Getenv("{{environment}}_API_KEY"),
		client:  http.DefaultClient,
		clock:   systemClock{},
		settings: settings{
			timeout:        30 * time.Second,
			connectTimeout: 5 * time.Second,
			maxRetries:     2,
			header:         http.Header{},
		},
	}
	for _, option := range options {
		if err := option.applyToClient(&c); err != nil {
			return nil, fmt.Errorf("{{go.package}}: %w", err)
		}
	}
	connection, err := connect(c)
	if err != nil {
		return nil, fmt.Errorf("{{go.package}}: %w", err)
	}
	return clientOf(connection), nil
}

// connect checks where a client sends calls, and with what key. No message shows the values: one may be taken for the other.
func connect(c config) (*connection, error) {
	if c.baseURL == "" {
		return nil, errors.New("there is no base URL: give WithBaseURL, or set {{environment}}_URL")
	}
	base, err := url.Parse(c.baseURL)
	isHTTP := err == nil && (base.Scheme == "http" || base.Scheme == "https") && base.Hostname() != ""
	if !isHTTP || strings.ContainsAny(c.baseURL, "?#") {
		return nil, errors.New("the base URL must be an http or https URL, such as https://api.example.com")
	}
	if strings.ContainsFunc(c.apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key has characters that a header cannot hold, such as spaces or line breaks")
	}
	client := *c.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &connection{
		baseURL:  strings.TrimRight(c.baseURL, "/"),
		origin:   base.Scheme + "://" + base.Host,
		address:  base.Scheme + "://" + base.Host + strings.TrimRight(base.EscapedPath(), "/"),
		apiKey:   func() string { return c.apiKey },
		client:   &client,
		clock:    c.clock,
		settings: c.settings,
	}, nil
}

// with returns the settings of one call.
func (s settings) with(options []CallOption) (settings, error) {
	s.header = maps.Clone(s.header)
	for _, option := range options {
		if err := option.applyToCall(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}

func isHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r)
	})
}

func isHeaderValue(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

package {{go.package}}

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// userAgent says who calls.
var userAgent = fmt.Sprintf("{{product}}-go/{{version}} (contract {{contract}}; go %s)",
	strings.TrimPrefix(runtime.Version(), "go"))

// connection is what the services of a client call through.
type connection struct {
	config
	origin    string
	userAgent string
}

// New makes a client. Without options it reads from the environment where the service is and what key to send. It also reads
// there by which proxy to call, and whether to log each attempt ({{environment}}_LOG=debug).
//
// It fails with a [*UsageError] if there is no base URL, or one that is no http or https URL, and if an option makes no sense.
func New(options ...Option) (*Client, error) {
	key := os.Getenv("{{environment}}_API_KEY")
	return newClient(config{
		baseURL:   os.Getenv("{{environment}}_URL"),
		apiKey:    func() string { return key },
		clock:     systemClock{},
		turns:     make(turns, usualConnections),
		isLogging: os.Getenv("{{environment}}_LOG") == "debug",
		settings: settings{
			timeout:        30 * time.Second,
			connectTimeout: 5 * time.Second,
			maxRetries:     2,
			header:         http.Header{},
		},
	}, options)
}

// With returns a client with other options, such as another key or another hook; what is not given is as it was. Both share
// their connections. It fails with a [*UsageError] as [New] does.
func (c *Client) With(options ...Option) (*Client, error) {
	if c == nil || c.connection == nil {
		return nil, fmt.Errorf("{{go.package}}: %w", usage("the client has no connection: make it with New"))
	}
	config := c.connection.config
	config.header = maps.Clone(config.header)
	return newClient(config, options)
}

// CloseIdleConnections closes the connections that no call uses, also for clients that share them. A client needs no other
// end, and not even this: a connection that nothing uses is closed after 90 s.
func (c *Client) CloseIdleConnections() {
	if c == nil || c.connection == nil {
		return
	}
	c.connection.client.CloseIdleConnections()
	c.connection.streams.CloseIdleConnections()
}

func withoutRedirects(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

func newClient(c config, options []Option) (*Client, error) {
	for _, option := range options {
		if option == nil {
			return nil, fmt.Errorf("{{go.package}}: %w", errNoOption)
		}
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
		return nil, usage("there is no base URL: give WithBaseURL, or set {{environment}}_URL")
	}
	base, err := url.Parse(c.baseURL)
	isHTTP := err == nil && (base.Scheme == "http" || base.Scheme == "https") && base.Hostname() != "" && isPort(base.Port())
	// The transport would send a user and a password in place of the key.
	if !isHTTP || base.User != nil || strings.ContainsAny(c.baseURL, "?#") {
		return nil, usage("the base URL must be an http or https URL without user, password, query and fragment, " +
			"such as https://api.example.com")
	}
	if strings.ContainsFunc(c.apiKey(), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, usage("the API key has characters that a header cannot hold, such as spaces or line breaks")
	}
	if c.client == nil {
		c.client, c.streams, c.proxies = newHTTPClient(environmentProxies(), cap(c.turns))
	}
	if c.proxies != nil {
		if _, err := c.proxies(base); err != nil {
			return nil, err
		}
	}
	c.client, c.streams = withoutRedirects(c.client), withoutRedirects(c.streams)
	c.baseURL = strings.TrimRight(c.baseURL, "/")
	return &connection{
		config:    c,
		origin:    base.Scheme + "://" + base.Host,
		userAgent: strings.TrimSpace(userAgent + " " + c.appName),
	}, nil
}

// isPort reports whether a text is a port, or none.
func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil
}

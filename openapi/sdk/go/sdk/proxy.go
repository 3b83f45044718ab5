package {{go.package}}

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
)

// proxies returns the proxy for a URL; nil if it is reached without one. It is a function, as what prints a value with all its
// fields does not print what a function holds: here the password of a proxy.
type proxies func(target *url.URL) (*url.URL, error)

var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// environmentProxies reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or the same in lower case, which wins.
//
// [http.ProxyFromEnvironment] reads them once in the life of a process, lets upper case win, and tells of a wrong URL only
// when a call is made.
func environmentProxies() proxies {
	names, urls := map[string]string{}, map[string]string{}
	for _, scheme := range []string{"http", "https"} {
		names[scheme], urls[scheme] = lookUp(strings.ToUpper(scheme) + "_PROXY")
	}
	_, direct := lookUp("NO_PROXY")
	return func(target *url.URL) (*url.URL, error) {
		if urls[target.Scheme] == "" || isDirect(target, strings.Split(direct, ",")) {
			return nil, nil
		}
		return proxyURL(names[target.Scheme], urls[target.Scheme])
	}
}

// lookUp returns the name and the value of a variable: of that in lower case, if it is set.
func lookUp(name string) (found, value string) {
	lower := strings.ToLower(name)
	if value, ok := os.LookupEnv(lower); ok {
		return lower, value
	}
	// To a CGI program, HTTP_PROXY is the header Proxy of the request.
	if name == "HTTP_PROXY" && os.Getenv("REQUEST_METHOD") != "" {
		return name, ""
	}
	return name, os.Getenv(name)
}

// proxyURL reads the URL of a proxy. The error doesn't show it: there may be a password in it.
func proxyURL(name, value string) (*url.URL, error) {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	proxy, err := url.Parse(value)
	if err != nil || proxy.Hostname() == "" || !slices.Contains(proxySchemes, proxy.Scheme) {
		return nil, usage("%s must be the URL of a proxy, such as http://proxy.example.com:3128", name)
	}
	return proxy, nil
}

// isDirect reports whether a URL is reached without a proxy: on this machine, or as an entry of NO_PROXY says.
func isDirect(target *url.URL, entries []string) bool {
	host := strings.ToLower(strings.TrimSuffix(target.Hostname(), "."))
	port := cmp.Or(target.Port(), map[string]string{"http": "80", "https": "443"}[target.Scheme])
	// Of a name there is none, which matches none.
	address, _ := netip.ParseAddr(host)
	address = address.Unmap()
	return host == "localhost" || address.IsLoopback() || slices.ContainsFunc(entries, func(entry string) bool {
		return isMatch(strings.ToLower(strings.TrimSpace(entry)), host, port, address)
	})
}

// isMatch reports whether an entry of NO_PROXY, such as *, example.com, .example.com:8080, 10.1.2.3 or 10.0.0.0/8, is of a host.
func isMatch(entry, host, port string, address netip.Addr) bool {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		return prefix.Contains(address)
	}
	if entryHost, entryPort, err := net.SplitHostPort(entry); err == nil {
		if entryPort != port {
			return false
		}
		entry = entryHost
	}
	if entryAddress, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		return entryAddress.Unmap() == address
	}
	name := strings.TrimPrefix(strings.TrimPrefix(entry, "*"), ".")
	return entry == "*" || host == name || strings.HasSuffix(host, "."+name)
}

// newHTTPClient returns the default client with connections of its own, at most so many, by the proxies. What an application has put in the
// place of the default transport stays, and knows of proxies what it knows: then there are none here.
func newHTTPClient(rules proxies, most int) (calls, streams *http.Client, own proxies) {
	client := *http.DefaultClient
	transport, ok := cmp.Or(client.Transport, http.DefaultTransport).(*http.Transport)
	if !ok {
		return &client, &client, nil
	}
	transport = transport.Clone()
	transport.Proxy = func(request *http.Request) (*url.URL, error) { return rules(request.URL) }
	if transport.OnProxyConnectResponse == nil {
		transport.OnProxyConnectResponse = refuseConnect
	}
	// All connections lead to one host.
	// A stream is not counted.
	unlimited := *http.DefaultClient
	unlimited.Transport = transport.Clone()
	transport.MaxConnsPerHost = most
	transport.MaxIdleConns = most
	transport.MaxIdleConnsPerHost = most
	client.Transport = transport
	return &client, &unlimited, rules
}

// refuseConnect returns the same error for a connection through a proxy as there is for a request that a proxy answers.
func refuseConnect(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
	if response.StatusCode == http.StatusProxyAuthRequired {
		return errProxyPassword
	}
	return nil
}

package programs

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	gateway "{{go.module}}"
)

var errDialled = errors.New("dialled")

// dialled calls an address once and returns where it connects to, which is nowhere.
func dialled(t *testing.T, baseURL string) (address string) {
	t.Helper()
	usual := http.DefaultTransport
	defer func() { http.DefaultTransport = usual }()
	http.DefaultTransport = &http.Transport{DialContext: func(_ context.Context, _, to string) (net.Conn, error) {
		address = to
		return nil, errDialled
	}}
	client, err := gateway.New(gateway.WithBaseURL(baseURL), gateway.WithMaxRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.User.Me(t.Context()); !errors.Is(err, errDialled) {
		t.Fatal(err)
	}
	return address
}

// setProxies sets the variables, and no other ones.
func setProxies(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "REQUEST_METHOD"} {
		// It restores the variable after the test.
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

func TestProxyIsThatOfTheScheme(t *testing.T) {
	both := map[string]string{"HTTP_PROXY": "http://one.invalid:3128", "HTTPS_PROXY": "two.invalid:3129"}
	for _, each := range []struct {
		variables      map[string]string
		baseURL, wants string
	}{
		{both, "http://gateway.invalid", "one.invalid:3128"},
		{both, "https://gateway.invalid/base", "two.invalid:3129"},
		{map[string]string{"HTTP_PROXY": "http://one.invalid", "http_proxy": "http://two.invalid"}, "http://gateway.invalid", "two.invalid:80"},
		{map[string]string{"HTTP_PROXY": "http://one.invalid", "http_proxy": ""}, "http://gateway.invalid", "gateway.invalid:80"},
		{map[string]string{"HTTP_PROXY": "http://one.invalid", "REQUEST_METHOD": "GET"}, "http://gateway.invalid", "gateway.invalid:80"},
		{map[string]string{"https_proxy": "socks5://one.invalid:1080"}, "https://gateway.invalid", "one.invalid:1080"},
		{map[string]string{"HTTPS_PROXY": "http://one.invalid"}, "http://gateway.invalid", "gateway.invalid:80"},
		{both, "http://localhost:3000", "localhost:3000"},
		{both, "http://127.8.9.1:3000", "127.8.9.1:3000"},
		{both, "https://[::1]", "[::1]:443"},
	} {
		setProxies(t, each.variables)
		if address := dialled(t, each.baseURL); address != each.wants {
			t.Errorf("with %v, %s is asked for at %s", each.variables, each.baseURL, address)
		}
	}
}

func TestNoProxyNamesWhatIsReachedWithoutOne(t *testing.T) {
	for entries, hosts := range map[string]map[string]bool{
		"*":                              {"gateway.invalid": true, "10.1.2.3": true},
		"other.invalid, gateway.invalid": {"gateway.invalid": true, "api.gateway.invalid": true, "mygateway.invalid": false},
		".Gateway.invalid":               {"gateway.invalid": true, "API.gateway.invalid.": true, "mygateway.invalid": false},
		"*.gateway.invalid":              {"api.gateway.invalid": true},
		"gateway.invalid:8080":           {"gateway.invalid:8080": true, "gateway.invalid": false},
		"gateway.invalid:80":             {"gateway.invalid": true},
		"10.1.2.3,[fe80::7]:81":          {"10.1.2.3": true, "110.1.2.3": false, "[fe80::7]:81": true, "[fe80::7]": false},
		"fe80::7":                        {"[fe80::7]:81": true, "[fe80::8]": false},
		"10.0.0.0/8":                     {"10.1.2.3": true, "11.1.2.3": false, "gateway.invalid": false},
		"":                               {"gateway.invalid": false},
		",.,":                            {"gateway.invalid": false, "gateway.invalid.": false},
	} {
		for host, isDirect := range hosts {
			setProxies(t, map[string]string{"HTTP_PROXY": "http://proxy.invalid:3128", "NO_PROXY": entries})
			if address := dialled(t, "http://"+host); (address != "proxy.invalid:3128") != isDirect {
				t.Errorf("with %q, %s is asked for at %s", entries, host, address)
			}
		}
	}
}

func TestProxyGetsWholeAddressesAndItsPassword(t *testing.T) {
	var seen []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.RequestURI, r.Header.Get("Proxy-Authorization"))
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		stats(w, r)
	}))
	defer proxy.Close()
	address := strings.Replace(proxy.URL, "http://", "http://us%20er:s3cret@", 1)
	setProxies(t, map[string]string{"HTTP_PROXY": address, "HTTPS_PROXY": address})

	client, err := gateway.New(gateway.WithBaseURL("http://gateway.invalid/base"), gateway.WithMaxRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Game.GetTypeStats(t.Context()); err != nil {
		t.Fatal(err)
	}
	secure, err := client.With(gateway.WithBaseURL("https://gateway.invalid"))
	if err != nil {
		t.Fatal(err)
	}
	var failure *gateway.ConnectionError
	if _, err := secure.User.Me(t.Context()); !errors.As(err, &failure) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error is %v", err)
	}
	credentials := "Basic " + base64.StdEncoding.EncodeToString([]byte("us er:s3cret"))
	expected := []string{
		"POST http://gateway.invalid/base/api/trpc/game.getTypeStats", credentials,
		"CONNECT gateway.invalid:443", credentials,
	}
	if !slices.Equal(seen, expected) {
		t.Errorf("the proxy got %q", seen)
	}
}

func TestProxyThatWantsAPasswordIsAskedOnce(t *testing.T) {
	requests := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer proxy.Close()
	setProxies(t, map[string]string{"HTTP_PROXY": proxy.URL, "HTTPS_PROXY": proxy.URL})
	for index, baseURL := range []string{"http://gateway.invalid", "https://gateway.invalid"} {
		client, err := gateway.New(gateway.WithBaseURL(baseURL), gateway.WithClock(&clock{}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.User.Me(t.Context())
		text := "user.me: no reply from " + baseURL + " after 1 attempt: the proxy wants a user and a password"
		var failure *gateway.ConnectionError
		if !errors.As(err, &failure) || err.Error() != text || requests != index+1 {
			t.Errorf("%v after %d requests", err, requests)
		}
	}
}

func TestWrongProxyIsNamedAndNotShown(t *testing.T) {
	own := gateway.WithHTTPClient(&http.Client{})
	for _, value := range []string{
		"http://me:s3cret@:3128",
		"ftp://me:s3cret@proxy.invalid",
		"http://me:s3cret@proxy.invalid:port",
		"http://me:s3cret@a b",
	} {
		for variable, baseURL := range map[string]string{
			"https_proxy": "https://gateway.invalid",
			"HTTP_PROXY":  "http://gateway.invalid",
		} {
			setProxies(t, map[string]string{variable: value})
			base := gateway.WithBaseURL(baseURL)
			near, err := gateway.New(gateway.WithBaseURL("http://localhost"))
			if err != nil {
				t.Fatal(err)
			}
			for _, use := range []func(...gateway.Option) (*gateway.Client, error){gateway.New, near.With} {
				if _, err := use(base); !isUsage(err) || !strings.Contains(err.Error(), variable) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%s=%s: the error is %v", variable, value, err)
				}
				if _, err := use(base, own); err != nil {
					t.Errorf("with a client of the caller's: %v", err)
				}
			}
		}
	}
}

// What an application has put in the place of the default transport is used as it is.
func TestReplacedDefaultTransportIsUsed(t *testing.T) {
	setProxies(t, map[string]string{"HTTP_PROXY": "http://proxy.invalid"})
	usual := http.DefaultTransport
	defer func() { http.DefaultTransport = usual }()
	http.DefaultTransport = transport(func(request *http.Request) (*http.Response, error) {
		recorder := httptest.NewRecorder()
		stats(recorder, request)
		return recorder.Result(), nil
	})
	client, err := gateway.New(gateway.WithBaseURL("http://gateway.invalid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Game.GetTypeStats(t.Context()); err != nil {
		t.Error(err)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

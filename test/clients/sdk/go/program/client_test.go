package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gateway "{{go.module}}"
)

const key = "cgk_0123456789"

// clock does not wait.
type clock struct{ waits int }

func (c *clock) Now() time.Time { return time.Now() }

func (c *clock) Sleep(context.Context, time.Duration) error {
	c.waits++
	return nil
}

// serve starts a server and returns a client of it, and how many requests came.
func serve(t *testing.T, handler http.HandlerFunc, options ...gateway.Option) (*gateway.Client, *atomic.Int32) {
	t.Helper()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	options = append([]gateway.Option{gateway.WithBaseURL(server.URL), gateway.WithClock(&clock{})}, options...)
	client, err := gateway.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	return client, &requests
}

func isUsage(err error) bool {
	var usage *gateway.UsageError
	return errors.As(err, &usage)
}

func stats(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, `{"result":{"data":{"json":{"items":[],"otherCount":0,"total":0}}}}`)
}

// hang answers nothing as long as the caller is there, which a server notices once it has read the body.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	t.Setenv("{{environment}}_URL", "")
	t.Setenv("{{environment}}_API_KEY", key)
	if _, err := gateway.New(); err == nil || !strings.Contains(err.Error(), "{{environment}}_URL") {
		t.Errorf("without a base URL, the error is %v", err)
	}
	base := gateway.WithBaseURL("https://api.example.com")
	for name, options := range map[string][]gateway.Option{
		"another scheme":         {gateway.WithBaseURL("ftp://api.example.com")},
		"a key as base URL":      {gateway.WithBaseURL(key)},
		"no host":                {gateway.WithBaseURL("https://:443")},
		"a query":                {gateway.WithBaseURL("https://api.example.com/?")},
		"a key with a line":      {base, gateway.WithAPIKey(key + "\n")},
		"a key with a space":     {base, gateway.WithAPIKey("Bearer " + key)},
		"a key beyond ASCII":     {base, gateway.WithAPIKey(key + "é")},
		"no time":                {base, gateway.WithTimeout(0)},
		"no time to connect":     {base, gateway.WithConnectTimeout(-1)},
		"fewer than no retries":  {base, gateway.WithMaxRetries(-1)},
		"a header with a line":   {base, gateway.WithHeader("X-Tenant", key+"\r\nX-Other: 1")},
		"a header without name":  {base, gateway.WithHeader("", "1")},
		"a header's name with :": {base, gateway.WithHeader("X:", "1")},
		"no HTTP client":         {base, gateway.WithHTTPClient(nil)},
		"an app without a name":  {base, gateway.WithAppName("/1.2")},
		"an app's empty version": {base, gateway.WithAppName("my-app/")},
		"an app with a space":    {base, gateway.WithAppName("my app")},
		"an app's two versions":  {base, gateway.WithAppName("my-app/1/2")},
		"no clock":               {base, gateway.WithClock(nil)},
		"no connections":         {base, gateway.WithMaxConnections(0)},
	} {
		client, err := gateway.New(options...)
		if err == nil || client != nil {
			t.Errorf("%s: there is no error", name)
			continue
		}
		if !isUsage(err) {
			t.Errorf("%s: %v is no usage error", name, err)
		}
		if strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error says %q", name, err)
		}
	}
}

func TestEnvironmentSaysWhereAndWithWhatKey(t *testing.T) {
	seen := make(chan *http.Request, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		stats(w, r)
	}))
	defer server.Close()
	t.Setenv("{{environment}}_URL", server.URL+"/base//")
	t.Setenv("{{environment}}_API_KEY", key)
	for _, options := range [][]gateway.Option{nil, {gateway.WithAPIKey("")}} {
		client, err := gateway.New(options...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Game.GetTypeStats(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first, second := <-seen, <-seen
	if first.URL.Path != "/base/api/trpc/game.getTypeStats" || first.Header.Get("Authorization") != "Bearer "+key {
		t.Errorf("%s with %q", first.URL, first.Header)
	}
	if second.Header.Get("Authorization") != "" {
		t.Error("the empty key was not taken for none")
	}
}

func TestOptionsOfACallAreCheckedBeforeItIsSent(t *testing.T) {
	client, requests := serve(t, stats)
	for _, option := range []gateway.CallOption{
		gateway.WithTimeout(-time.Second),
		gateway.WithIdempotencyKey(""),
		gateway.WithIdempotencyKey("a\nb"),
		gateway.WithMaxRecords(0),
	} {
		_, err := client.Game.GetTypeStats(t.Context(), option)
		if !isUsage(err) || errors.Is(err, gateway.ErrGateway) || !strings.HasPrefix(err.Error(), "game.getTypeStats: ") {
			t.Errorf("the error is %v", err)
		}
	}
	if sent := requests.Load(); sent != 0 {
		t.Errorf("%d requests were sent", sent)
	}
}

func TestHeadersOfTheCallerWin(t *testing.T) {
	var got *http.Request
	client, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		stats(w, r)
	}, gateway.WithAPIKey(key), gateway.WithHeader("Authorization", "Basic eDp5"), gateway.WithHeader("X-Tenant", "north"))
	_, err := client.Game.GetTypeStats(t.Context(),
		gateway.WithHeader("x-tenant", "south"), gateway.WithHeader("Host", "tenant.example.com"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Header.Get("Authorization") != "Basic eDp5" || got.Header.Get("X-Tenant") != "south" ||
		got.Host != "tenant.example.com" {
		t.Errorf("%s with %q", got.Host, got.Header)
	}
}

func TestContextEndsACall(t *testing.T) {
	client, requests := serve(t, hang)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := client.User.Me(ctx, gateway.WithMaxRetries(0))
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, gateway.ErrGateway) || requests.Load() != 1 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
	_, err = client.User.Me(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), " after 0 attempts") {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

func TestTimeoutIsNotTheContexts(t *testing.T) {
	client, _ := serve(t, hang)
	_, err := client.User.Me(t.Context(), gateway.WithTimeout(50*time.Millisecond), gateway.WithMaxRetries(0))
	if !errors.Is(err, gateway.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestConnectTimeoutDoesNotCountTheReply(t *testing.T) {
	client, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(300 * time.Millisecond)
		stats(w, r)
	})
	if _, err := client.Game.GetTypeStats(t.Context(), gateway.WithConnectTimeout(200*time.Millisecond)); err != nil {
		t.Error(err)
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests were sent", requests.Load())
	}
}

func TestWrongCertificateIsNotTriedAgain(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(stats))
	defer server.Close()
	var waits clock
	client, err := gateway.New(gateway.WithBaseURL(server.URL), gateway.WithClock(&waits))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Game.GetTypeStats(t.Context())
	var failure *gateway.ConnectionError
	if !errors.As(err, &failure) || failure.Attempts != 1 || waits.waits != 0 {
		t.Errorf("%v after %d waits", err, waits.waits)
	}
	trusting, err := gateway.New(gateway.WithBaseURL(server.URL), gateway.WithHTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trusting.Game.GetTypeStats(t.Context()); err != nil {
		t.Error(err)
	}
}

// A transport repeats by itself what has an Idempotency-Key, if the connection had been used before.
func TestEachRequestIsCounted(t *testing.T) {
	var lost atomic.Bool
	client, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if lost.CompareAndSwap(true, false) {
			panic(http.ErrAbortHandler)
		}
		stats(w, r)
	})
	once := gateway.WithIdempotencyKey("once")
	if _, err := client.Game.GetTypeStats(t.Context(), once); err != nil {
		t.Fatal(err)
	}
	lost.Store(true)
	var response gateway.Response
	if _, err := client.Game.GetTypeStats(t.Context(), once, gateway.WithResponse(&response)); err != nil {
		t.Fatal(err)
	}
	if response.Attempts != 2 || requests.Load() != 3 {
		t.Errorf("%d attempts for %d requests", response.Attempts, requests.Load()-1)
	}
}

func TestEndlessReplyIsGivenUp(t *testing.T) {
	part := make([]byte, 1<<20)
	client, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	})
	_, err := client.User.Me(t.Context())
	var strange *gateway.UnexpectedReplyError
	if !errors.As(err, &strange) || requests.Load() != 1 || !strings.Contains(err.Error(), " with a body of more than 64 MiB.") {
		t.Fatalf("%v after %d requests", err, requests.Load())
	}
	if strange.Status != http.StatusOK || len(strange.Body) != 500 {
		t.Errorf("status %d with %d characters of the body", strange.Status, len(strange.Body))
	}
}

func TestLastPageHasNoNext(t *testing.T) {
	client, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"result":{"data":{"json":{"items":[],"page":1,"limit":1,"total":0,"totalRelation":"eq",`+
			`"hasMore":false,"nextCursor":null}}}}`)
	})
	page, err := client.Game.List(t.Context(), gateway.GameListInput{Page: 1, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if next, err := page.NextPage(t.Context()); next != nil || !isUsage(err) {
		t.Errorf("%v, %v", next, err)
	}
}

func TestACrowdOfCallsWaitsForItsTurn(t *testing.T) {
	// Connections are counted as they open: a server sees late that a client closed one, so those open at once cannot be told here.
	var underWay, most, opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := underWay.Add(1)
		defer underWay.Add(-1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
		}
		time.Sleep(time.Millisecond)
		stats(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client, err := gateway.New(gateway.WithBaseURL(server.URL), gateway.WithMaxConnections(5))
	if err != nil {
		t.Fatal(err)
	}
	other, err := client.With(gateway.WithAPIKey(key))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var crowd sync.WaitGroup
		for number := range 500 {
			crowd.Add(1)
			go func() {
				defer crowd.Done()
				if _, err := []*gateway.Client{client, other}[number%2].Game.GetTypeStats(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}
		crowd.Wait()
	}
	if most.Load() != 5 || opened.Load() > 100 {
		t.Errorf("%d calls at once; 1000 calls opened %d connections", most.Load(), opened.Load())
	}
}

func TestACallThatWaitsForItsTurnCanBeCancelled(t *testing.T) {
	arrived := make(chan struct{})
	client, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		hang(w, r)
	}, gateway.WithMaxConnections(1))
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := client.User.Me(ctx)
		first <- err
	}()
	<-arrived
	impatient, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer leave()
	if _, err := client.User.Me(impatient); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) || requests.Load() != 1 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

func TestListNamesAPageAndItsSize(t *testing.T) {
	var bodies []string
	client, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		fmt.Fprintf(w, `{"result":{"data":{"json":{"items":[],"page":1,"limit":1,"total":0,"totalRelation":"eq",`+
			`"hasMore":true,"nextCursor":"c%d"}}}}`, len(bodies))
	})
	for _, input := range []gateway.ImageListInput{{}, {Page: 4, Limit: 7}} {
		page, err := client.Image.List(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := page.NextPage(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wanted := []string{
		`{"json":{"limit":20,"page":1}}`, `{"json":{"limit":20,"page":2,"cursor":"c1"}}`,
		`{"json":{"limit":7,"page":4}}`, `{"json":{"limit":7,"page":5,"cursor":"c3"}}`,
	}
	if !slices.Equal(bodies, wanted) {
		t.Errorf("%q was sent", bodies)
	}
}

package {{go.package}}_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"{{go.module}}"
)

// The examples run against the service that the environment names, such as a sandbox, with a key that may write.
func TestMain(m *testing.M) {
	if os.Getenv("{{environment}}_URL") == "" {
		fmt.Fprintln(os.Stderr, "The examples are not run: set {{environment}}_URL and {{environment}}_API_KEY.")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func Example() {
	// From {{environment}}_URL and {{environment}}_API_KEY.
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	created, err := client.Game.Create(ctx, {{go.package}}.GameInput{
		Title:    "星の伝説",
		GameType: "RPG",
		TagNames: []string{"ファンタジー"},
	})
	if err != nil {
		log.Fatal(err)
	}
	game, err := client.Game.GetByID(ctx, {{go.package}}.GameGetByIDInput{ID: created.ID})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(game.Title, *game.GameType, game.Tags[0].Name)
	// Output: 星の伝説 RPG ファンタジー
}

func ExampleNew() {
	client, err := {{go.package}}.New(
		{{go.package}}.WithBaseURL("https://api.example.com"),
		{{go.package}}.WithAPIKey(os.Getenv("MY_KEY")),
		{{go.package}}.WithTimeout(10*time.Second),
		{{go.package}}.WithMaxRetries(4),
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client)
	// Output: {{go.package}}.Client of https://api.example.com
}

func ExampleGameService_List() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	page, err := client.Game.List(ctx, {{go.package}}.GameListInput{
		Page:   1,
		Limit:  10,
		SortBy: {{go.package}}.GameSortLikes,
	})
	for err == nil {
		fmt.Println("page of", len(page.Items), "of", page.Total)
		if !page.HasNextPage() {
			break
		}
		page, err = page.NextPage(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleGameService_ListAll() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if _, err := client.Game.Create(ctx, {{go.package}}.GameInput{Title: "海の伝説"}); err != nil {
		log.Fatal(err)
	}
	for game, err := range client.Game.ListAll(ctx, {{go.package}}.GameListInput{Search: "海の伝説"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(game.Title)
		// No further page is asked for.
		break
	}
	// Output: 海の伝説
}

func ExampleAPIError() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Game.GetByID(context.Background(), {{go.package}}.GameGetByIDInput{ID: "nothing"})

	var failure *{{go.package}}.APIError
	if errors.As(err, &failure) {
		fmt.Println(failure.Operation, failure.Status, failure.Reason)
	}
	fmt.Println(errors.Is(err, {{go.package}}.ErrNotFound), errors.Is(err, {{go.package}}.ErrTimeout))
	// Output:
	// game.getById 404 GAME_NOT_FOUND
	// true false
}

func ExampleAPIError_issues() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Game.Create(context.Background(), {{go.package}}.GameInput{Title: "", Version: "1.2"})

	var failure *{{go.package}}.APIError
	if errors.As(err, &failure) {
		for _, issue := range failure.Issues {
			fmt.Println(issue.Path, issue.Code)
		}
	}
	// Output:
	// /title too_small
	// /version invalid_format
}

func ExampleWithResponse() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	var response {{go.package}}.Response
	_, err = client.Game.GetTypeStats(context.Background(), {{go.package}}.WithResponse(&response))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status, response.Attempts, response.RequestID != "")
	// Output: 200 1 true
}

func ExampleWithIdempotencyKey() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	// Kept with what is to be published, so that it is the same after a crash.
	key := {{go.package}}.WithIdempotencyKey(rand.Text())

	first, err := client.Game.Create(ctx, {{go.package}}.GameInput{Title: "一度きり"}, key)
	if err != nil {
		log.Fatal(err)
	}
	var response {{go.package}}.Response
	again, err := client.Game.Create(ctx, {{go.package}}.GameInput{Title: "一度きり"}, key, {{go.package}}.WithResponse(&response))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.ID == first.ID, response.Replayed)
	// Output: true true
}

func ExampleChange() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	post, err := client.Image.Create(ctx, {{go.package}}.ImagePostInput{
		Title:       "路地裏",
		Images:      []string{"https://images.example.com/rain.webp"},
		Description: "雨の夜",
	})
	if err != nil {
		log.Fatal(err)
	}
	renamed, err := client.Image.Update(ctx, {{go.package}}.ImageUpdateInput{ID: post.ID, Title: {{go.package}}.Ptr("裏通り")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(renamed.Title, *renamed.Description)

	cleared, err := client.Image.Update(ctx, {{go.package}}.ImageUpdateInput{ID: post.ID, Description: {{go.package}}.Clear()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cleared.Title, cleared.Description == nil)
	// Output:
	// 裏通り 雨の夜
	// 裏通り true
}

// waits is a clock that notes waits in place of waiting.
type waits []time.Duration

func (w *waits) Now() time.Time { return time.Now() }

func (w *waits) Sleep(_ context.Context, duration time.Duration) error {
	*w = append(*w, duration)
	return nil
}

// A test of what a program does while the service is overloaded, which waits for nothing.
func ExampleClock() {
	overloaded := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	server := httptest.NewServer(overloaded)
	defer server.Close()

	var clock waits
	client, err := {{go.package}}.New({{go.package}}.WithBaseURL(server.URL), {{go.package}}.WithClock(&clock))
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.User.Me(context.Background())
	fmt.Println(errors.Is(err, {{go.package}}.ErrServer), clock)
	// Output: true [7s 7s]
}

// tenant is a transport that adds a header to each request.
type tenant struct{ next http.RoundTripper }

func (t tenant) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("X-Tenant", "north")
	return t.next.RoundTrip(request)
}

func ExampleWithHTTPClient() {
	client, err := {{go.package}}.New(
		{{go.package}}.WithHTTPClient(&http.Client{Transport: tenant{http.DefaultTransport}}),
	)
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Game.GetTypeStats(context.Background())
	fmt.Println(err)
	// Output: <nil>
}

func ExampleWithAttemptHook() {
	client, err := {{go.package}}.New({{go.package}}.WithAttemptHook(func(attempt {{go.package}}.Attempt) {
		fmt.Println(attempt.Operation, attempt.Number, attempt.Status, attempt.Reason)
	}))
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Game.GetByIDFor(context.Background(), "nothing")
	fmt.Println(errors.Is(err, {{go.package}}.ErrNotFound))
	// Output:
	// game.getById 1 404 GAME_NOT_FOUND
	// true
}

func ExampleClient_With() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	anyone, err := client.With({{go.package}}.WithAPIKey(""), {{go.package}}.WithAppName("my-app/1.2"))
	if err != nil {
		log.Fatal(err)
	}
	_, err = anyone.User.Me(context.Background())
	fmt.Println(errors.Is(err, {{go.package}}.ErrAuthentication))
	// Output: true
}

func ExampleClient_Call() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	var page struct {
		Page int `json:"page"`
	}
	err = client.Call(context.Background(), "game.list", map[string]any{"page": 1, "limit": 3}, &page)
	fmt.Println(page.Page, err)
	// Output: 1 <nil>
}

func ExampleGameService_ListPages() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	pages := client.Game.ListPages(context.Background(), {{go.package}}.GameListInput{Limit: 20})
	for page, err := range pages {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("page of", len(page.Items), "of", page.Total)
	}
}

package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	gateway "{{go.module}}"
)

func TestDerivedClientSharesConnections(t *testing.T) {
	remotes := map[string]bool{}
	var got []http.Header
	client, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		remotes[r.RemoteAddr] = true
		got = append(got, r.Header)
		stats(w, r)
	}, gateway.WithAPIKey(key), gateway.WithHeader("X-Tenant", "north"))
	derived, err := client.With(gateway.WithAPIKey(""), gateway.WithHeader("X-Team", "red"), gateway.WithAppName("my-app"))
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []*gateway.Client{client, derived, client} {
		if _, err := each.Game.GetTypeStats(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(remotes) != 1 {
		t.Errorf("there were %d connections", len(remotes))
	}
	if h := got[1]; h.Get("Authorization") != "" || h.Get("X-Tenant") != "north" || h.Get("X-Team") != "red" ||
		!strings.HasSuffix(h.Get("User-Agent"), ") my-app") {
		t.Errorf("the derived client sent %q", h)
	}
	if h := got[2]; h.Get("Authorization") != "Bearer "+key || h.Get("X-Team") != "" ||
		!strings.HasSuffix(h.Get("User-Agent"), ")") {
		t.Errorf("the first client was changed: it sent %q", h)
	}
	if _, err := client.With(gateway.WithTimeout(0)); !isUsage(err) {
		t.Errorf("the error is %v", err)
	}
	derived.CloseIdleConnections()
	if _, err := client.Game.GetTypeStats(t.Context()); err != nil || len(remotes) != 2 {
		t.Errorf("%v with %d connections", err, len(remotes))
	}
}

func TestCallChecksWhatItGetsBeforeItIsSent(t *testing.T) {
	client, requests := serve(t, stats)
	var output map[string]any
	for _, err := range []error{
		client.Call(t.Context(), "../admin", nil, &output),
		client.Call(t.Context(), "game", nil, &output),
		client.Call(t.Context(), "game.list?x", nil, &output),
		client.Call(t.Context(), "game.list", nil, output),
		client.Call(t.Context(), "game.list", nil, (*int)(nil)),
		client.Call(t.Context(), "game.list", make(chan int), &output),
		client.Call(t.Context(), "game.list", nil, &output, gateway.WithTimeout(0)),
	} {
		if !isUsage(err) {
			t.Errorf("the error is %v", err)
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests were sent", requests.Load())
	}
}

func TestCallReadsIntoWhatTheCallerHas(t *testing.T) {
	var body, idempotencyKey string
	client, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		bytes, _ := io.ReadAll(r.Body)
		body, idempotencyKey = string(bytes), r.Header.Get("Idempotency-Key")
		stats(w, r)
	})
	var typed struct{ Total int }
	if err := client.Call(t.Context(), "game.getNewest", nil, &typed); err != nil || body != `{"json":{}}` || idempotencyKey == "" {
		t.Errorf("%v after %s with the key %q", err, body, idempotencyKey)
	}
	var raw json.RawMessage
	if err := client.Call(t.Context(), "game.getTypeStats", struct{}{}, &raw); err != nil || idempotencyKey != "" ||
		string(raw) != `{"items":[],"otherCount":0,"total":0}` {
		t.Errorf("%v, %s with the key %q", err, raw, idempotencyKey)
	}
	if err := client.Call(t.Context(), "game.getTypeStats", nil, nil); err != nil {
		t.Error(err)
	}
}

// endless returns pages of one game each, of which none is the last.
func endless() http.HandlerFunc {
	count := 0
	return func(w http.ResponseWriter, _ *http.Request) {
		count++
		fmt.Fprintf(w, `{"result":{"data":{"json":{"items":[{"id":"g%d"}],"page":1,"limit":1,"total":9,"totalRelation":"eq",`+
			`"hasMore":true,"nextCursor":"c%d"}}}}`, count, count)
	}
}

func TestWrongCapOfRecordsIsAnErrorOfTheIterator(t *testing.T) {
	client, requests := serve(t, endless())
	count := 0
	for _, err := range client.Game.ListAll(t.Context(), gateway.GameListInput{}, gateway.WithMaxRecords(-1)) {
		count++
		if !isUsage(err) {
			t.Errorf("the error is %v", err)
		}
	}
	if count != 1 || requests.Load() != 0 {
		t.Errorf("%d errors, %d requests", count, requests.Load())
	}
}

func TestIteratorsCanBeRunAgain(t *testing.T) {
	client, _ := serve(t, endless())
	games := client.Game.ListAll(t.Context(), gateway.GameListInput{Limit: 1}, gateway.WithMaxRecords(3))
	for range 2 {
		count := 0
		for _, err := range games {
			if err != nil {
				t.Fatal(err)
			}
			count++
		}
		if count != 3 {
			t.Errorf("%d records came", count)
		}
	}
}

func TestValueOfTheOnlyMemberIsTheInput(t *testing.T) {
	var body string
	client, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		bytes, _ := io.ReadAll(r.Body)
		body = string(bytes)
		w.WriteHeader(http.StatusBadRequest)
	})
	for wants, call := range map[string]func() error{
		`{"json":{"gameId":"g1"}}`: func() error { _, err := client.Game.ToggleFavoriteFor(t.Context(), "g1"); return err },
		`{"json":{"avatar":null}}`: func() error { _, err := client.User.UpdateAvatarFor(t.Context(), nil); return err },
		`{"json":{"games":[{"title":"一の巻"}]}}`: func() error {
			_, err := client.Game.BatchCreateFor(t.Context(), []gateway.GameInput{{Title: "一の巻"}}, gateway.WithTimeout(time.Minute))
			return err
		},
	} {
		if err := call(); !errors.Is(err, gateway.ErrBadRequest) || body != wants {
			t.Errorf("%v after %s instead of %s", err, body, wants)
		}
	}
}

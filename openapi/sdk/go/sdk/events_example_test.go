// {{#events}}
package {{go.package}}_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"{{go.module}}"
)

func ExampleEventService_Follow() {
	client, err := {{go.package}}.New()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	now, err := client.Event.List(ctx, {{go.package}}.EventListInput{Start: {{go.package}}.EventStartLatest})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Game.Create(ctx, {{go.package}}.GameInput{Title: "風の伝説"}); err != nil {
		log.Fatal(err)
	}
	// After is what was kept of an earlier run, say in the transaction with what was made of the events.
	follower := client.Event.Follow(ctx, {{go.package}}.EventListInput{
		After:   now.NextCursor,
		Types:   []{{go.package}}.EventType{{{go.package}}.EventTypeGameCreated},
		Include: {{go.package}}.EventInclusionRecord,
	})
	for event, err := range follower.Events() {
		if err != nil {
			log.Fatal(err)
		}
		// follower.Cursor() is from where to go on after a restart.
		if event.Game != nil && event.Game.Title == "風の伝説" {
			fmt.Println(event.Type, event.Game.Title)
			break
		}
	}
	// Output: game.created 風の伝説
}

// hook is the endpoint of a webhook.
func hook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		return
	}
	message, err := {{go.package}}.UnwrapWebhook(body, r.Header, os.Getenv("WEBHOOK_SECRET"))
	var refused *{{go.package}}.WebhookVerificationError
	switch {
	case errors.As(err, &refused):
		http.Error(w, string(refused.Fault), http.StatusBadRequest)
	case err != nil:
		http.Error(w, "no secret", http.StatusInternalServerError)
	case message.Challenge != "":
		_ = json.NewEncoder(w).Encode(map[string]string{"challenge": message.Challenge})
	case message.Event != nil:
		// Skip message.ID if it was seen.
		log.Println(message.Event.Type, message.Event.Record.ID)
	}
}

func ExampleUnwrapWebhook() {
	http.HandleFunc("POST /hook", hook)
}
// {{/events}}

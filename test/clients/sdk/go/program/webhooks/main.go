// {{#events}}
// Command webhooks takes or refuses the messages of the file that WEBHOOK_VECTORS names, and prints what comes of each as a
// line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	gateway "{{go.module}}"
)

// timeForm is that of times in JSON.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

type messages struct {
	Secret  string    `json:"secret"`
	Now     time.Time `json:"now"`
	Vectors []struct {
		Name    string            `json:"name"`
		Body    string            `json:"body"`
		Headers map[string]string `json:"headers"`
		// Secrets are those in place of the one of all messages.
		Secrets          []string `json:"secrets"`
		ToleranceSeconds *int     `json:"toleranceSeconds"`
	} `json:"vectors"`
}

// clock stands still.
type clock struct{ now time.Time }

func (c clock) Now() time.Time { return c.now }

func (clock) Sleep(context.Context, time.Duration) error { return nil }

func main() {
	log.SetFlags(0)
	text, err := os.ReadFile(os.Getenv("WEBHOOK_VECTORS"))
	if err != nil {
		log.Fatal(err)
	}
	var messages messages
	if err := json.Unmarshal(text, &messages); err != nil {
		log.Fatal(err)
	}
	for _, vector := range messages.Vectors {
		header := http.Header{}
		for name, value := range vector.Headers {
			header[name] = []string{value}
		}
		outcome := map[string]any{"name": vector.Name}
		secret := messages.Secret
		options := []gateway.WebhookOption{gateway.WithClock(clock{messages.Now})}
		if vector.Secrets != nil {
			secret = vector.Secrets[0]
			options = append(options, gateway.WithOtherSecrets(vector.Secrets[1:]...))
		}
		if seconds := vector.ToleranceSeconds; seconds != nil {
			options = append(options, gateway.WithTolerance(time.Duration(*seconds)*time.Second))
		}
		message, err := gateway.UnwrapWebhook([]byte(vector.Body), header, secret, options...)
		var refused *gateway.WebhookVerificationError
		switch {
		case errors.As(err, &refused):
			outcome["error"] = refused.Fault
		case err != nil:
			log.Fatal(err)
		default:
			outcome["ok"] = membersOf(message)
		}
		line, err := json.Marshal(outcome)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(line))
	}
}

func membersOf(message *gateway.WebhookMessage) map[string]any {
	members := map[string]any{
		"id":        message.ID,
		"type":      message.Type,
		"timestamp": message.Timestamp.Format(timeForm),
		"event":     nil,
		"challenge": nil,
	}
	if message.Challenge != "" {
		members["challenge"] = message.Challenge
	}
	if event := message.Event; event != nil {
		members["event"] = map[string]any{
			"id":       event.ID,
			"position": event.Position,
			"type":     event.Type,
			"record":   event.Record,
			"actorId":  event.ActorID,
			"at":       event.At.Format(timeForm),
		}
	}
	return members
}
// {{/events}}

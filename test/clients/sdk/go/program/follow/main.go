// {{#events}}
// Command follow prints the events of games that it creates itself.
package main

import (
	"context"
	"fmt"
	"log"

	gateway "{{go.module}}"
)

func main() {
	log.SetFlags(0)
	if err := follow(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func follow(ctx context.Context) error {
	client, err := gateway.New()
	if err != nil {
		return err
	}
	create := func(number int) error {
		_, err := client.Game.Create(ctx, gateway.GameInput{Title: fmt.Sprintf("follow %d", number)})
		return err
	}
	now, err := client.Event.List(ctx, gateway.EventListInput{Start: gateway.EventStartLatest})
	if err != nil {
		return err
	}
	for number := range 3 {
		if err := create(number + 1); err != nil {
			return err
		}
	}

	follower := client.Event.Follow(ctx, gateway.EventListInput{
		After:   now.NextCursor,
		Types:   []gateway.EventType{gateway.EventTypeGameCreated},
		Include: gateway.EventInclusionRecord,
	})
	count := 0
	for event, err := range follower.Events() {
		if err != nil {
			return err
		}
		fmt.Println(event.Type, event.Game.Title)
		count++
		if count == 4 {
			break
		}
		if count == 3 {
			if err := create(4); err != nil {
				return err
			}
		}
	}
	if follower.Cursor() == "" {
		fmt.Println("cursor: none")
	} else {
		fmt.Println("cursor: there")
	}
	return nil
}
// {{/events}}

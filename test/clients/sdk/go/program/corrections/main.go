// {{#game.update}}
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	gateway "{{go.module}}"
)

func main() {
	log.SetFlags(0)
	if err := corrections(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// corrections prints what corrections.txt holds: an author changes and deletes what it published. A cleared text is
// null, and a member that is left out stays.
func corrections(ctx context.Context) error {
	client, err := gateway.New()
	if err != nil {
		return err
	}
	game, err := client.Game.Create(ctx, gateway.GameInput{
		Title:   "書き間違い",
		Version: "Ver1.0",
		IsFree:  gateway.Ptr(false),
		ExtraInfo: &gateway.ExtraInfoInput{
			OriginalAuthor: "青い丘工房",
			FileSize:       "1.5GB",
			Platforms:      []string{"Windows"},
		},
	})
	if err != nil {
		return err
	}
	show("create", game)

	cleared, err := client.Game.Update(ctx, gateway.GameUpdateInput{
		ID:        game.ID,
		Title:     gateway.Ptr("直した題"),
		Version:   gateway.Clear(),
		ExtraInfo: &gateway.ExtraInfoUpdateInput{OriginalAuthor: gateway.Clear(), Platforms: []string{}},
	})
	if err != nil {
		return err
	}
	show("clear", cleared)
	set, err := client.Game.Update(ctx, gateway.GameUpdateInput{
		ID:        game.ID,
		ExtraInfo: &gateway.ExtraInfoUpdateInput{OriginalAuthor: gateway.SetTo("赤い丘工房")},
	})
	if err != nil {
		return err
	}
	show("set", set)

	deleteGame := func(id string) (string, error) {
		gone, err := client.Game.DeleteFor(ctx, id)
		if err != nil {
			return "", err
		}
		return gone.ID, nil
	}
	deletePost := func(id string) (string, error) {
		gone, err := client.Image.DeleteFor(ctx, id)
		if err != nil {
			return "", err
		}
		return gone.ID, nil
	}
	if err := listOf(ctx, client, game.Author.ID); err != nil {
		return err
	}
	if err := deleteTwice(game.ID, deleteGame); err != nil {
		return err
	}
	if err := listOf(ctx, client, game.Author.ID); err != nil {
		return err
	}
	post, err := client.Image.Create(ctx, gateway.ImagePostInput{
		Title:  "路地裏",
		Images: []string{"https://images.example.com/rain.webp"},
	})
	if err != nil {
		return err
	}
	return deleteTwice(post.ID, deletePost)
}

func show(step string, game *gateway.Game) {
	extra := game.ExtraInfo
	platform := strings.Join(extra.Platforms, ", ")
	if platform == "" {
		platform = none
	}
	fmt.Printf("%s: %s, %s, by %s, %s, on %s, free: %t\n",
		step, game.Title, text(game.Version), text(extra.OriginalAuthor), text(extra.FileSize), platform, game.IsFree)
}

const none = "none"

func text(value *string) string {
	if value == nil {
		return none
	}
	return *value
}

func listOf(ctx context.Context, client *gateway.Client, author string) error {
	page, err := client.Game.List(ctx, gateway.GameListInput{AuthorID: author})
	if err != nil {
		return err
	}
	titles := none
	for _, game := range page.Items {
		titles = game.Title
	}
	fmt.Printf("by author: %s\n", titles)
	return nil
}

func deleteTwice(id string, remove func(id string) (string, error)) error {
	gone, err := remove(id)
	if err != nil {
		return err
	}
	same := "another"
	if gone == id {
		same = "the same"
	}
	_, err = remove(id)
	var failure *gateway.APIError
	if !errors.As(err, &failure) {
		return fmt.Errorf("not refused by the gateway: %w", err)
	}
	fmt.Printf("delete: %s, then %d %s\n", same, failure.Status, failure.Reason)
	return nil
}
// {{/game.update}}

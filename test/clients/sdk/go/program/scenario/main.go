package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	gateway "{{go.module}}"
)

func main() {
	log.SetFlags(0)
	if err := scenario(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func clientWith(key string) (*gateway.Client, error) {
	return gateway.New(gateway.WithAPIKey(key))
}

func scenario(ctx context.Context) error {
	writer, err := gateway.New()
	if err != nil {
		return err
	}
	reader, err := clientWith(os.Getenv("GATEWAY_READ_KEY"))
	if err != nil {
		return err
	}
	anyone, err := clientWith("")
	if err != nil {
		return err
	}

	me, err := writer.User.Me(ctx)
	if err != nil {
		return err
	}
	scopes := join(me.APIKey.Scopes, ", ", func(scope gateway.Scope) string { return string(scope) })
	fmt.Printf("me: %s, may %s\n", me.Nickname, scopes)

	input := gateway.GameListInput{Limit: 20, Page: 1}
	empty, err := anyone.Game.List(ctx, input)
	if err != nil {
		return err
	}
	fmt.Printf("list: %d of %d\n", len(empty.Items), empty.Total)

	created, err := writer.Game.Create(ctx, gateway.GameInput{
		Title:       "星の伝説 〜𠮷野の丘〜",
		Description: "失われた星を探す。",
		GameType:    "RPG",
		TagNames:    []string{"ファンタジー", "Dragons", "长篇"},
		ExtraInfo: &gateway.ExtraInfoInput{
			OriginalAuthor: "青い丘工房",
			Downloads:      []gateway.DownloadInput{{Name: "Mirror 1", URL: "https://files.example.com/hoshi.zip"}},
		},
	})
	if err != nil {
		return err
	}
	tags := join(created.Tags, ", ", func(tag gateway.Tag) string { return tag.Name })
	fmt.Printf("create: %s, %s, tagged %s\n", created.Title, *created.GameType, tags)

	read, err := anyone.Game.GetByID(ctx, gateway.GameGetByIDInput{ID: created.ID})
	if err != nil {
		return err
	}
	mirrors := join(read.ExtraInfo.Downloads, ", ", func(download gateway.Download) string { return download.Name })
	fmt.Printf("read: %s By %s, from %s\n", *read.Description, *read.ExtraInfo.OriginalAuthor, mirrors)

	for range 2 {
		favorite, err := writer.Game.ToggleFavorite(ctx, gateway.GameToggleFavoriteInput{GameID: created.ID})
		if err != nil {
			return err
		}
		fmt.Printf("favorite: %t, %d\n", favorite.Favorited, favorite.FavoriteCount)
	}

	batch, err := writer.Game.BatchCreate(ctx, gateway.GameBatchCreateInput{
		Games: []gateway.GameInput{
			{Title: "一の巻"},
			{Title: "二の巻"},
			{Title: "三の巻"},
		},
	})
	if err != nil {
		return err
	}
	fmt.Printf("batch: %s\n", join(batch.Items, ", ", func(game gateway.Game) string { return game.Title }))

	input.Search = "巻"
	input.SortBy = gateway.GameSortOldest
	found, err := anyone.Game.List(ctx, input)
	if err != nil {
		return err
	}
	fmt.Printf("search 巻: %d of %d\n", len(found.Items), found.Total)

	var titles []string
	for game, err := range anyone.Game.ListAll(ctx, gateway.GameListInput{Search: "巻", SortBy: gateway.GameSortOldest}) {
		if err != nil {
			return err
		}
		titles = append(titles, game.Title)
	}
	fmt.Printf("walk 巻: %s\n", strings.Join(titles, ", "))

	named := gateway.WithHeader("X-Request-Id", "scenario")
	var response gateway.Response
	if _, err := anyone.Game.GetByID(ctx, gateway.GameGetByIDInput{ID: created.ID}, named, gateway.WithResponse(&response)); err != nil {
		return err
	}
	fmt.Printf("reply: %d to %s, attempts %d\n", response.Status, response.RequestID, response.Attempts)

	post, err := writer.Image.Create(ctx, gateway.ImagePostInput{
		Title:       "路地裏",
		Images:      []string{"https://images.example.com/rain.webp"},
		Description: "雨の夜",
	})
	if err != nil {
		return err
	}
	fmt.Printf("describe: %s\n", *post.Description)

	cleared, err := writer.Image.Update(ctx, gateway.ImageUpdateInput{ID: post.ID, Description: gateway.Clear()})
	if err != nil {
		return err
	}
	if cleared.Description == nil {
		fmt.Println("clear: none")
	}

	once := gateway.WithIdempotencyKey("scenario")
	first, err := writer.Game.Create(ctx, gateway.GameInput{Title: "一度きり"}, once)
	if err != nil {
		return err
	}
	again, err := writer.Game.Create(ctx, gateway.GameInput{Title: "一度きり"}, once)
	if err != nil {
		return err
	}
	same := "another"
	if again.ID == first.ID {
		same = "the same"
	}
	fmt.Printf("again: %s, %s\n", again.Title, same)

	for _, call := range []func() error{
		func() error {
			_, err := writer.Game.Create(ctx, gateway.GameInput{Title: "", CoverURL: "cover"})
			return err
		},
		func() error {
			_, err := writer.Game.Create(ctx, gateway.GameInput{Title: "二度目"}, once)
			return err
		},
		func() error { _, err := anyone.Game.Create(ctx, gateway.GameInput{Title: "無名"}); return err },
		func() error { _, err := reader.Game.Create(ctx, gateway.GameInput{Title: "読者"}); return err },
		func() error { _, err := anyone.Game.GetByID(ctx, gateway.GameGetByIDInput{ID: "nothing"}); return err },
	} {
		if err := refused(call()); err != nil {
			return err
		}
	}
	_, err = anyone.Game.GetByID(ctx, gateway.GameGetByIDInput{ID: "nothing"}, named)
	fmt.Println(err)
	return nil
}

// refused prints why the gateway refused a call, and returns any other failure.
func refused(err error) error {
	if err == nil {
		fmt.Println("not refused")
		return nil
	}
	var failure *gateway.APIError
	if !errors.As(err, &failure) {
		return fmt.Errorf("not refused by the gateway: %w", err)
	}
	issues := join(failure.Issues, "; ", func(issue gateway.Issue) string {
		return strings.Join([]string{issue.Path, issue.Code, issue.Message}, " ")
	})
	if issues != "" {
		issues = ": " + issues
	}
	fmt.Printf("%d %s%s\n", failure.Status, failure.Reason, issues)
	return nil
}

func join[T any](items []T, separator string, textOf func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = textOf(item)
	}
	return strings.Join(texts, separator)
}

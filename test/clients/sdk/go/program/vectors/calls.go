package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	gateway "{{go.module}}"
)

func inputOf[Input any](v vector) (input Input) {
	if err := json.Unmarshal(v.Call.Input, &input); err != nil {
		log.Fatalf("%s: %v", v.Name, err)
	}
	return input
}

func (v vector) call(ctx context.Context, client *gateway.Client, options ...gateway.CallOption) (map[string]any, error) {
	if v.Call.Form == "generic" {
		var output map[string]any
		err := client.Call(ctx, v.Call.Operation, v.Call.Input, &output, options...)
		return output, err
	}
	switch v.Call.Operation {
	case "game.getById":
		if v.Call.Scalar {
			return okOf(gameOf)(client.Game.GetByIDFor(ctx, inputOf[gateway.GameGetByIDInput](v).ID, options...))
		}
		return okOf(gameOf)(client.Game.GetByID(ctx, inputOf[gateway.GameGetByIDInput](v), options...))
	case "game.getRelated":
		if v.Call.Scalar {
			return okOf(relatedOf)(client.Game.GetRelatedFor(ctx, inputOf[gateway.GameGetRelatedInput](v).GameID, options...))
		}
		return okOf(relatedOf)(client.Game.GetRelated(ctx, inputOf[gateway.GameGetRelatedInput](v), options...))
	case "game.create":
		return okOf(gameOf)(client.Game.Create(ctx, inputOf[gateway.GameInput](v), options...))
	case "game.list":
		return okOf(pageOf)(client.Game.List(ctx, inputOf[gateway.GameListInput](v), options...))
	case "user.search":
		if v.Call.Scalar {
			return okOf(foundOf)(client.User.SearchFor(ctx, inputOf[gateway.UserSearchInput](v).Query, options...))
		}
		return okOf(foundOf)(client.User.Search(ctx, inputOf[gateway.UserSearchInput](v), options...))
	case "user.me":
		return okOf(userOf)(client.User.Me(ctx, options...))
	}
	return nil, fmt.Errorf("%s: no such operation is known here", v.Call.Operation)
}

// records returns the ids that came, also before an error.
func (v vector) records(ctx context.Context, client *gateway.Client, options ...gateway.CallOption) ([]string, error) {
	ids := []string{}
// {{#events}}
	if v.Call.Form == "tail" || v.Call.Form == "follow" {
		return v.events(ctx, client, options...)
	}
// {{/events}}
	input := inputOf[gateway.GameListInput](v)
	if v.Call.Form == "pages" {
		page, err := client.Game.List(ctx, input, options...)
		for err == nil {
			ids = append(ids, idsOf(page)...)
			if !page.HasNextPage() {
				return ids, nil
			}
			page, err = page.NextPage(ctx)
		}
		return ids, err
	}
	if v.Call.Form == "page-iterator" {
		for page, err := range client.Game.ListPages(ctx, input, options...) {
			if err != nil {
				return ids, err
			}
			ids = append(ids, idsOf(page)...)
			if v.Call.Take != nil && len(ids) >= *v.Call.Take {
				break
			}
		}
		return ids, nil
	}
	for game, err := range client.Game.ListAll(ctx, input, options...) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, game.ID)
		if v.Call.Take != nil && len(ids) == *v.Call.Take {
			break
		}
	}
	return ids, nil
}

// {{#events}}
// events returns the ids of the events that came, also before an error.
func (v vector) events(ctx context.Context, client *gateway.Client, options ...gateway.CallOption) ([]string, error) {
	var input gateway.EventListInput
	if v.Call.Input != nil {
		input = inputOf[gateway.EventListInput](v)
	}
	follow := client.Event.Follow
	if v.Call.Form == "tail" {
		follow = client.Event.Tail
	}
	ids := []string{}
	for event, err := range follow(ctx, input, options...).Events() {
		if err != nil {
			return ids, err
		}
		ids = append(ids, event.ID)
		if v.Call.Take != nil && len(ids) == *v.Call.Take {
			break
		}
	}
	return ids, nil
}

// {{/events}}
func okOf[Output any](members func(*Output) map[string]any) func(*Output, error) (map[string]any, error) {
	return func(output *Output, err error) (map[string]any, error) {
		if err != nil {
			return nil, err
		}
		return members(output), nil
	}
}

func gameOf(game *gateway.Game) map[string]any {
	var reaction *gateway.ReactionType
	if game.Viewer != nil {
		reaction = game.Viewer.Reaction
	}
	return map[string]any{"id": game.ID, "title": game.Title, "reaction": reaction}
}

func relatedOf(related *gateway.GameGetRelatedOutput) map[string]any {
	ids := []string{}
	for _, game := range related.Items {
		ids = append(ids, game.ID)
	}
	return map[string]any{"ids": ids}
}

func foundOf(found *gateway.UserSearchOutput) map[string]any {
	ids := []string{}
	for _, user := range found.Items {
		ids = append(ids, user.ID)
	}
	return map[string]any{"ids": ids}
}

func pageOf(page *gateway.GameListOutput) map[string]any {
	return map[string]any{
		"ids":           idsOf(page),
		"totalRelation": page.TotalRelation,
		"hasNextPage":   page.HasNextPage(),
	}
}

func idsOf(page *gateway.GameListOutput) []string {
	ids := []string{}
	for _, game := range page.Items {
		ids = append(ids, game.ID)
	}
	return ids
}

func userOf(user *gateway.CurrentUser) map[string]any {
	return map[string]any{"nickname": user.Nickname, "scopes": user.APIKey.Scopes}
}

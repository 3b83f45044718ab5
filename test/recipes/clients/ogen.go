package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"client/client"
)

type key struct{}

func (key) ApiKey(context.Context, client.OperationName) (client.ApiKey, error) {
	return client.ApiKey{Token: os.Getenv("GATEWAY_KEY")}, nil
}

func main() {
	ctx := context.Background()
	gateway, err := client.NewClient(os.Getenv("GATEWAY_URL"), key{})
	if err != nil {
		log.Fatal(err)
	}
	wanted := &client.GameCreateRequest{JSON: client.GameInput{Title: "星の伝説"}}
	answer, err := gateway.GameCreate(ctx, wanted, client.GameCreateParams{})
	made, isMade := answer.(*client.GameCreateReplyHeaders)
	if err != nil || !isMade {
		log.Fatal(answer, err)
	}
	named := &client.GameGetByIdRequest{JSON: client.GameGetByIdInput{ID: made.Response.Result.Data.JSON.ID}}
	found, err := gateway.GameGetById(ctx, named)
	read, isRead := found.(*client.GameGetByIdReplyHeaders)
	if err != nil || !isRead {
		log.Fatal(found, err)
	}
	fmt.Println(read.Response.Result.Data.JSON.Title)
}

package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"client/client"
)

func main() {
	ctx := context.Background()
	signed := client.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("GATEWAY_KEY"))
		return nil
	})
	gateway, err := client.NewClientWithResponses(os.Getenv("GATEWAY_URL"), signed)
	if err != nil {
		log.Fatal(err)
	}

	wanted := client.GameCreateRequest{Json: client.GameInput{Title: "星の伝説"}}
	made, err := gateway.GameCreateWithResponse(ctx, nil, wanted)
	if err != nil || made.JSON200 == nil {
		log.Fatal(made, err)
	}
	named := client.GameGetByIdRequest{Json: client.GameGetByIdInput{Id: made.JSON200.Result.Data.Json.Id}}
	read, err := gateway.GameGetByIdWithResponse(ctx, named)
	if err != nil || read.JSON200 == nil {
		log.Fatal(read, err)
	}
	fmt.Println(read.JSON200.Result.Data.Json.Title)
}

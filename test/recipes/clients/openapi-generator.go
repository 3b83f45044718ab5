package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"client/client"
)

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("GATEWAY_URL")}}
	games := client.NewAPIClient(configuration).GameAPI
	ctx := context.WithValue(context.Background(), client.ContextAccessToken, os.Getenv("GATEWAY_KEY"))

	wanted := *client.NewGameCreateRequest(*client.NewGameInput("星の伝説"))
	made, _, err := games.GameCreate(ctx).GameCreateRequest(wanted).Execute()
	if err != nil {
		log.Fatal(err)
	}
	named := *client.NewGameGetByIdRequest(*client.NewGameGetByIdInput(made.Result.Data.Json.Id))
	read, _, err := games.GameGetById(ctx).GameGetByIdRequest(named).Execute()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(read.Result.Data.Json.Title)
}

// Command vectors makes the calls that a fault server lists, and prints what comes of each as a line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	gateway "{{go.module}}"
)

// replyDelay is how long after its beginning a call is cancelled during its reply.
const replyDelay = time.Second

func main() {
	log.SetFlags(0)
	vectors, err := read(os.Getenv("VECTORS_URL") + "/vectors?run=" + url.QueryEscape(os.Getenv("VECTORS_RUN")))
	if err != nil {
		log.Fatal(err)
	}
	for index, vector := range vectors {
		line, err := json.Marshal(vector.play(index%2 == 1))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(line))
	}
}

func read(address string) ([]vector, error) {
	response, err := http.Get(address)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	var vectors []vector
	return vectors, json.Unmarshal(body, &vectors)
}

// clock notes waits in place of waiting.
type clock struct {
	offset time.Duration
	slept  time.Duration
	waits  []float64
	// cancel, if there is one, is called in each wait, which then lasts until it takes effect.
	cancel context.CancelFunc
}

func (c *clock) Now() time.Time {
	return time.Now().Add(c.offset + c.slept)
}

func (c *clock) Sleep(ctx context.Context, duration time.Duration) error {
	c.waits = append(c.waits, duration.Seconds())
	if c.cancel != nil {
		c.cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	c.slept += duration
	return nil
}

// play makes the calls of a vector, with its options given to the client or to each call.
func (v vector) play(optionsOfClient bool) outcome {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	clock := &clock{offset: time.Duration(v.ClockOffsetSeconds) * time.Second, waits: []float64{}}
	result := outcome{Name: v.Name, Events: []event{}}
	var telling sync.Mutex
	ofClient, ofCall := v.options(optionsOfClient)
	ofClient = append(ofClient, gateway.WithClock(clock), gateway.WithAttemptHook(func(attempt gateway.Attempt) {
		telling.Lock()
		defer telling.Unlock()
		result.Events = append(result.Events, eventOf(attempt))
	}))
	client, err := v.client(ofClient)
	if err != nil {
		log.Fatalf("%s: %v", v.Name, err)
	}

	switch v.Call.Cancel {
	case "during-wait":
		clock.cancel = cancel
	case "during-reply":
		time.AfterFunc(replyDelay, cancel)
	}
	if v.Call.Form == "call" || v.Call.Form == "generic" {
		var response gateway.Response
		var crowd sync.WaitGroup
		failures := make([]error, max(1, v.Call.Times)-1)
		for other := range failures {
			crowd.Add(1)
			go func() {
				defer crowd.Done()
				_, failures[other] = v.call(ctx, client, ofCall...)
			}()
		}
		result.OK, err = v.call(ctx, client, append(ofCall, gateway.WithResponse(&response))...)
		crowd.Wait()
		err = errors.Join(append(failures, err)...)
		if err == nil {
			result.Meta = metaOf(response)
		}
	} else {
		result.Items, err = v.records(ctx, client, ofCall...)
	}
	result.Waits = clock.waits
	result.Debug = fmt.Sprintf("%v %+v %#v %v %+v %#v %+v %#v", err, err, err, client, client, client, *client, *client)
	if err != nil {
		result.Text = err.Error()
		result.Cancelled = errors.Is(err, context.Canceled)
		result.Error = membersOf(err)
	}
	return result
}

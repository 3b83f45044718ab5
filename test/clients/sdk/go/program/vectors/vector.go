package main

import (
	"encoding/json"
	"time"

	gateway "{{go.module}}"
)

type vector struct {
	Name               string  `json:"name"`
	BaseURL            string  `json:"baseUrl"`
	Key                *string `json:"key"`
	ClockOffsetSeconds int     `json:"clockOffsetSeconds"`
	Call               struct {
		Operation string          `json:"operation"`
		Input     json.RawMessage `json:"input"`
		Form      string          `json:"form"`
		Take      *int            `json:"take"`
		Scalar    bool            `json:"scalar"`
		Via       string          `json:"via"`
		Options   options         `json:"options"`
		Cancel    string          `json:"cancel"`
		Times     int             `json:"times"`
	} `json:"call"`
}

type options struct {
	MaxRetries       *int              `json:"maxRetries"`
	TimeoutMs        *int              `json:"timeoutMs"`
	ConnectTimeoutMs *int              `json:"connectTimeoutMs"`
	IdempotencyKey   *string           `json:"idempotencyKey"`
	Headers          map[string]string `json:"headers"`
	AppName          *string           `json:"appName"`
	MaxRecords       *int              `json:"maxRecords"`
	MaxConnections   *int              `json:"maxConnections"`
	SilenceMs        *int              `json:"silenceMs"`
}

func (o options) shared() (shared []gateway.SharedOption) {
	for name, value := range o.Headers {
		shared = append(shared, gateway.WithHeader(name, value))
	}
	if o.MaxRetries != nil {
		shared = append(shared, gateway.WithMaxRetries(*o.MaxRetries))
	}
	if o.TimeoutMs != nil {
		shared = append(shared, gateway.WithTimeout(time.Duration(*o.TimeoutMs)*time.Millisecond))
	}
	if o.ConnectTimeoutMs != nil {
		shared = append(shared, gateway.WithConnectTimeout(time.Duration(*o.ConnectTimeoutMs)*time.Millisecond))
	}
	return shared
}

// options returns the options of the vector for the client and for each call; those that both can take are for one of them.
func (v vector) options(areOfClient bool) (ofClient []gateway.Option, ofCall []gateway.CallOption) {
	key := ""
	if v.Key != nil {
		key = *v.Key
	}
	ofClient = []gateway.Option{gateway.WithBaseURL(v.BaseURL), gateway.WithAPIKey(key)}
	for _, option := range v.Call.Options.shared() {
		if areOfClient || v.Call.Via != "" {
			ofClient = append(ofClient, option)
		} else {
			ofCall = append(ofCall, option)
		}
	}
	if name := v.Call.Options.AppName; name != nil {
		ofClient = append(ofClient, gateway.WithAppName(*name))
	}
	if most := v.Call.Options.MaxConnections; most != nil {
		ofClient = append(ofClient, gateway.WithMaxConnections(*most))
	}
	if own := v.Call.Options.IdempotencyKey; own != nil {
		ofCall = append(ofCall, gateway.WithIdempotencyKey(*own))
	}
// {{#events}}
	if silence := v.Call.Options.SilenceMs; silence != nil {
		ofCall = append(ofCall, gateway.WithSilence(time.Duration(*silence)*time.Millisecond))
	}
// {{/events}}
	if most := v.Call.Options.MaxRecords; most != nil {
		ofCall = append(ofCall, gateway.WithMaxRecords(*most))
	}
	return ofClient, ofCall
}

// client makes the client, if the vector says so from another one.
func (v vector) client(options []gateway.Option) (*gateway.Client, error) {
	if v.Call.Via == "" {
		return gateway.New(options...)
	}
	first, err := gateway.New(
		gateway.WithBaseURL(v.BaseURL),
		gateway.WithAPIKey("cgk_other"),
		gateway.WithHeader("X-First", "1"),
		gateway.WithMaxRetries(0),
	)
	if err != nil {
		return nil, err
	}
	return first.With(options...)
}

package programs

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	gateway "{{go.module}}"
)

// faultOf returns what is wrong with a reply of status 200, as the error says it.
func faultOf(t *testing.T, contentType, body string, call func(*gateway.Client) error) string {
	t.Helper()
	client, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		// Nil is no content type.
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		fmt.Fprint(w, body)
	}, gateway.WithMaxRetries(0))
	err := call(client)
	var strange *gateway.UnexpectedReplyError
	if !errors.As(err, &strange) || requests.Load() != 1 {
		t.Fatalf("%v after %d requests", err, requests.Load())
	}
	text, _, _ := strings.Cut(err.Error(), ". Is http")
	_, fault, _ := strings.Cut(text, ": 200 ")
	return fault
}

func TestStrangeRepliesAreToldApart(t *testing.T) {
	getTypeStats := func(client *gateway.Client) error { _, err := client.Game.GetTypeStats(t.Context()); return err }
	deep := strings.Repeat(`{"a":[`, 50)
	for _, each := range []struct{ contentType, body, fault string }{
		{"application/json", " \n", "application/json with an empty body"},
		{"", "", "(no content type) with an empty body"},
		{"text/plain", "", "text/plain, which is no reply of a content gateway"},
		{"application/json", `{"result":{"data":{"json":{"total":"1`, "application/json whose JSON is cut off"},
		{"", `tru`, "(no content type) whose JSON is cut off"},
		{"application/json", `{"result":}`, "application/json whose JSON is not valid"},
		{"application/json", `{} {}`, "application/json whose JSON is not valid"},
		{"application/json", deep + "]", "application/json whose JSON is cut off"},
		{"application/json", deep + "[", "application/json whose JSON is nested too deeply"},
		{"application/json", `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}", "application/json whose JSON is nested too deeply"},
		{"application/json", `{"a":"` + strings.Repeat(`[\"\\`, 200) + `"}`, "application/json without the gateway's envelope"},
		{"application/json", `{"result":{"data":{"json":[]}}}`, "application/json without the gateway's envelope"},
		{"application/json", `{"result":{"data":{"json":null}}}`, "application/json without the gateway's envelope"},
		{"text/plain", `{}`, "text/plain without the gateway's envelope"},
	} {
		if fault := faultOf(t, each.contentType, each.body, getTypeStats); fault != each.fault {
			t.Errorf("%.40q: %s", each.body, fault)
		}
	}
	// What is good is read at any depth.
	client, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		more := strings.Repeat("[", 200) + strings.Repeat("]", 200)
		fmt.Fprintf(w, `{"result":{"data":{"json":{"items":[],"otherCount":0,"total":0,"more":%s}}}}`, more)
	})
	if err := getTypeStats(client); err != nil {
		t.Error(err)
	}
}

func TestUnreadableMemberIsNamed(t *testing.T) {
	for output, fault := range map[string]string{
		`"items":[],"total":1.5`:                                  "total is not an integer",
		`"items":[],"total":"many"`:                               "total is not an integer",
		`"items":{},"total":1`:                                    "items is not an array",
		`"items":[{"gameType":"a"},{"gameType":false}],"total":1`: "items[1].gameType is not a string",
		`"items":[{"gameType":"a"},7],"total":1`:                  "items[1] is not an object",
	} {
		body := `{"result":{"data":{"json":{"otherCount":0,` + output + `}}}}`
		got := faultOf(t, "application/json", body, func(client *gateway.Client) error {
			_, err := client.Game.GetTypeStats(t.Context())
			return err
		})
		if got != "application/json whose output is not readable: "+fault {
			t.Errorf("%s: %s", output, got)
		}
	}

	long := strings.Repeat("長", 300)
	for json, each := range map[string]struct {
		output any
		fault  string
	}{
		`{"createdAt":"yesterday"}`:      {&gateway.Game{}, "createdAt is not a date"},
		`{"viewer":{"favorited":"yes"}}`: {&gateway.Game{}, "viewer.favorited is not a boolean"},
		`{"` + long + `":1}`:             {&map[string]string{}, long[:200*len("長")]},
		`{"a":1}`:                        {&[]string{}, "the output is not an array"},
		`{"createdAt":{"year":1}}`:       {&gateway.Game{}, "createdAt is not a date"},
		`{"total":[{"Name":[]}]}`:        {&struct{ Total []struct{ Name string } }{}, "total[0].Name is not a string"},
		`{"own":{"a":1}}`:                {&struct{ Own *own }{}, "refused by its own type"},
	} {
		body := `{"result":{"data":{"json":` + json + `}}}`
		got := faultOf(t, "application/json", body, func(client *gateway.Client) error {
			return client.Call(t.Context(), "game.getNewest", nil, each.output)
		})
		if got != "application/json whose output is not readable: "+each.fault {
			t.Errorf("%.40s: %s", json, got)
		}
	}
}

// own is a type that reads itself.
type own struct{}

func (*own) UnmarshalJSON([]byte) error { return errors.New("refused by its own type") }

// {{#events}}
package {{go.package}}

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	secretPrefix  = "whsec_"
	challengeType = "webhook.challenge"
	// usualTolerance is how far the time of a message may be from now, if no option says.
	usualTolerance = 5 * time.Minute
)

// WebhookMessage is a message of a webhook whose signature was right.
type WebhookMessage struct {
	// ID is the webhook-id, the same whenever the message is sent again: skip one that you have seen.
	ID string
	// Type is what the message tells of, such as game.created or webhook.challenge; new ones may be added.
	Type string
	// Timestamp is when that happened.
	Timestamp time.Time
	// Event is the event, without the record; nil if the message has none, or one of a form that
	// this version doesn't know.
	Event *Event
	// Challenge is the text to answer as {"challenge": …}, with status 200; "" if the message is no challenge.
	Challenge string
}

// WebhookFault is what is wrong with a message of a webhook.
type WebhookFault string

// What can be wrong with a message, in the order in which it is looked at.
const (
	// WebhookFaultHeader says that a header lacks.
	WebhookFaultHeader WebhookFault = "header"
	// WebhookFaultTimestamp says that the time is no number of seconds.
	WebhookFaultTimestamp WebhookFault = "timestamp"
	// WebhookFaultOld says that the message is too old: it may be a repeated one.
	WebhookFaultOld WebhookFault = "old"
	// WebhookFaultAhead says that the time of the message is yet to come: one of the two clocks is wrong.
	WebhookFaultAhead WebhookFault = "ahead"
	// WebhookFaultSignature says that no signature is that of a secret.
	WebhookFaultSignature WebhookFault = "signature"
	// WebhookFaultBody says that a body with the right signature is no message.
	WebhookFaultBody WebhookFault = "body"
)

// WebhookVerificationError says why a message of a webhook is refused. It holds neither the secret nor a signature.
type WebhookVerificationError struct {
	// Fault is what is wrong.
	Fault WebhookFault

	text string
}

// Error says what is wrong with the message.
func (e *WebhookVerificationError) Error() string {
	return "webhook: " + e.text
}

func unverified(fault WebhookFault, format string, values ...any) error {
	return &WebhookVerificationError{fault, fmt.Sprintf(format, values...)}
}

// WebhookOption is an option of [UnwrapWebhook]: [WithOtherSecrets], [WithTolerance] or [WithClock].
type WebhookOption interface {
	applyToWebhook(*verification) error
}

// verification is how messages are checked.
type verification struct {
	secrets   []string
	tolerance time.Duration
	clock     Clock
}

func (o ClockOption) applyToWebhook(v *verification) (err error) {
	v.clock, err = o.given()
	return err
}

type webhookOption func(*verification) error

func (o webhookOption) applyToWebhook(v *verification) error { return o(v) }

// WithOtherSecrets takes messages that are signed with one of these secrets, too: the old one of a webhook for a while after it was
// rotated, or those of several webhooks of one endpoint.
func WithOtherSecrets(secrets ...string) WebhookOption {
	return webhookOption(func(v *verification) error {
		v.secrets = append(v.secrets, secrets...)
		return nil
	})
}

// WithTolerance says how far the time of a message may be from now. The default is 5 minutes.
func WithTolerance(tolerance time.Duration) WebhookOption {
	return webhookOption(func(v *verification) error {
		if tolerance < 0 {
			return usage("the tolerance must be 0 or more, and is %v", tolerance)
		}
		v.tolerance = tolerance
		return nil
	})
}

// UnwrapWebhook checks that a message was signed with the secret of a webhook, less than five minutes ago, and reads it. The body
// is that of the request as it came, byte by byte; names of headers may be in any case. The secret begins with whsec_; options name
// more of them, and another time than five minutes.
//
// It fails with a [*WebhookVerificationError], to be answered with 400, or with a [*UsageError] if the secret is none. Types
// of messages that this version does not know are no failure. A message comes at least once: see ID of [WebhookMessage].
func UnwrapWebhook(body []byte, header http.Header, secret string, options ...WebhookOption) (*WebhookMessage, error) {
	verification := verification{secrets: []string{secret}, tolerance: usualTolerance, clock: systemClock{}}
	for _, option := range options {
		if err := option.applyToWebhook(&verification); err != nil {
			return nil, fmt.Errorf("{{go.package}}: %w", err)
		}
	}
	keys, err := webhookKeys(verification.secrets)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		if values[name] = headerValue(header, name); values[name] == "" {
			return nil, unverified(WebhookFaultHeader, "the header %s lacks", name)
		}
	}
	id, sent := values["webhook-id"], values["webhook-timestamp"]
	if err := verification.checkTime(sent); err != nil {
		return nil, err
	}
	content := id + "." + sent + "." + string(body)
	if !slices.ContainsFunc(keys, func(key []byte) bool { return isSigned(key, content, values["webhook-signature"]) }) {
		return nil, unverified(WebhookFaultSignature, "no signature is that of %s", theSecrets(len(keys)))
	}
	message, err := readMessage(body)
	if err != nil {
		return nil, unverified(WebhookFaultBody, "the body is no message: %v", err)
	}
	message.ID = id
	return message, nil
}

// webhookKeys returns the keys that secrets hold.
func webhookKeys(secrets []string) (keys [][]byte, err error) {
	for _, secret := range secrets {
		text, hasPrefix := strings.CutPrefix(secret, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(text)
		if !hasPrefix || err != nil || len(key) == 0 {
			return nil, fmt.Errorf("{{go.package}}: %w", usage("the secret of a webhook must be %s and base64", secretPrefix))
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func theSecrets(count int) string {
	if count == 1 {
		return "the secret"
	}
	return "one of the secrets"
}

// headerValue returns the values of a header, whose name may not be in the form that Go gives it.
func headerValue(header http.Header, name string) string {
	var found []string
	for each, values := range header {
		if strings.EqualFold(each, name) {
			found = append(found, values...)
		}
	}
	return strings.Join(found, " ")
}

// checkTime refuses times that are none, or that are too far from now: an old message may be a repeated one.
func (v verification) checkTime(sent string) error {
	moment, err := strconv.ParseUint(sent, 10, 63)
	if err != nil {
		return unverified(WebhookFaultTimestamp, "the time is no number of seconds")
	}
	// Not as durations, in which not every number of seconds has room.
	age, most := float64(v.clock.Now().Unix()-int64(moment)), v.tolerance.Seconds()
	switch {
	case age > most:
		return unverified(WebhookFaultOld, "the message is more than %s old", seconds(v.tolerance))
	case -age > most:
		return unverified(WebhookFaultAhead, "the message is more than %s ahead of the clock", seconds(v.tolerance))
	}
	return nil
}

// isSigned reports whether one of the signatures is that of the content. Schemes that are not known are passed over.
func isSigned(key []byte, content, signatures string) bool {
	hash := hmac.New(sha256.New, key)
	// It never fails.
	_, _ = hash.Write([]byte(content))
	wanted := []byte(base64.StdEncoding.EncodeToString(hash.Sum(nil)))
	isRight := false
	for each := range strings.SplitSeq(signatures, " ") {
		scheme, signature, _ := strings.Cut(each, ",")
		if scheme == "v1" && hmac.Equal([]byte(signature), wanted) {
			isRight = true
		}
	}
	return isRight
}

// readMessage reads a message without its id.
func readMessage(body []byte) (*WebhookMessage, error) {
	var message struct {
		Type      string          `json:"type"`
		Timestamp time.Time       `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return nil, err
	}
	if message.Type == "" || message.Timestamp.IsZero() {
		return nil, errors.New("it lacks a type or a timestamp")
	}
	read := &WebhookMessage{Type: message.Type, Timestamp: message.Timestamp, Event: eventIn(message.Data)}
	if message.Type == challengeType {
		var data struct {
			Challenge json.RawMessage `json:"challenge"`
		}
		// Without an object there is no challenge.
		_ = json.Unmarshal(message.Data, &data)
		read.Challenge = textIn(data.Challenge)
	}
	return read, nil
}

// eventIn returns the event that the data of a message are; nil if they are none.
func eventIn(data json.RawMessage) *Event {
	event := new(Event)
	if json.Unmarshal(data, event) != nil {
		return nil
	}
	if event.ID == "" || event.Type == "" || event.Record.Kind == "" || event.Record.ID == "" || event.At.IsZero() {
		return nil
	}
	return event
}
// {{/events}}

package {{go.package}}

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// What is wrong with a reply that is no gateway's.
const (
	notTheGateways = ", which no content gateway answers"
	withoutOurs    = " without the gateway's envelope"
	emptyBody      = " with an empty body"
	cutOff         = " whose JSON is cut off"
	invalid        = " whose JSON is not valid"
	tooDeep        = " whose JSON is nested too deeply"
	tooLong        = " with a body of more than 64 MiB"
)

// deepest is how many levels a reply may be nested.
const deepest = 100

// envelopeFault says why there is no envelope in a body.
func (r *reply) envelopeFault() string {
	if mediaType := mediaTypeOf(r.header); mediaType != "application/json" && mediaType != "" {
		if json.Valid(r.body) {
			return withoutOurs
		}
		return notTheGateways
	}
	var value json.RawMessage
	switch err := json.NewDecoder(bytes.NewReader(r.body)).Decode(&value); {
	case errors.Is(err, io.EOF):
		return emptyBody
	case depthOf(r.body) > deepest:
		return tooDeep
	case errors.Is(err, io.ErrUnexpectedEOF):
		return cutOff
	case !json.Valid(r.body):
		return invalid
	}
	return withoutOurs
}

// depthOf counts the levels of JSON, which need not be valid.
func depthOf(document []byte) (most int) {
	depth, isText, isEscaped := 0, false, false
	for _, char := range document {
		switch {
		case isEscaped:
			isEscaped = false
		case isText:
			isEscaped, isText = char == '\\', char != '"'
		case char == '"':
			isText = true
		case char == '[', char == '{':
			depth++
			most = max(most, depth)
		case char == ']', char == '}':
			depth--
		}
	}
	return most
}

// typeFault says which member of an output has not the type that it should, such as "items[0].title is not a string". If it
// finds none, the error says what it can.
func typeFault(data json.RawMessage, output any, err error) string {
	path, found := mistyped(data, reflect.TypeOf(output).Elem())
	if found == nil {
		return err.Error()
	}
	path = strings.TrimPrefix(path, ".")
	if path == "" {
		path = "the output"
	}
	return fmt.Sprintf("%s is not %s", path, typeText(found))
}

// mistyped returns the path and the type of the innermost value that its type cannot hold; no type if there is none.
func mistyped(value json.RawMessage, of reflect.Type) (path string, found reflect.Type) {
	if value == nil || json.Unmarshal(value, reflect.New(of).Interface()) == nil {
		return "", nil
	}
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	var items []json.RawMessage
	var members map[string]json.RawMessage
	switch of.Kind() {
	case reflect.Slice:
		_ = json.Unmarshal(value, &items)
	case reflect.Map, reflect.Struct:
		_ = json.Unmarshal(value, &members)
	}
	for index, item := range items {
		if path, found := mistyped(item, of.Elem()); found != nil {
			return fmt.Sprintf("[%d]%s", index, path), found
		}
	}
	for _, member := range membersOf(of, members) {
		if path, found := mistyped(members[member.name], member.of); found != nil {
			return "." + member.name + path, found
		}
	}
	return "", of
}

// member is a member of an object, and the type that it should have.
type member struct {
	name string
	of   reflect.Type
}

// membersOf returns the members that a struct has, or those in a map.
func membersOf(of reflect.Type, given map[string]json.RawMessage) (members []member) {
	switch of.Kind() {
	case reflect.Map:
		for _, name := range slices.Sorted(maps.Keys(given)) {
			members = append(members, member{name, of.Elem()})
		}
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			members = append(members, member{name, field.Type})
		}
	}
	return members
}

func typeText(of reflect.Type) string {
	if of == reflect.TypeFor[time.Time]() {
		return "a date"
	}
	switch of.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "what it should be"
}

package {{go.package}}

import (
	"bytes"
	"cmp"
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
	notTheGateways = ", which is no reply of {{service}}"
	withoutOurs    = " without the gateway's envelope"
	emptyBody      = " with an empty body"
	cutOff         = " whose JSON is cut off"
	invalid        = " whose JSON is not valid"
	tooDeep        = " whose JSON is nested too deeply"
	tooLong        = " with a body of more than 64 MiB"
)

var timeType = reflect.TypeFor[time.Time]()

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

// mistyped returns the path and the type of the innermost value that its type cannot hold; no type if it finds none.
func mistyped(value json.RawMessage, of reflect.Type) (path string, found reflect.Type) {
	if json.Unmarshal(value, reflect.New(of).Interface()) == nil {
		return "", nil
	}
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	inner, isContainer := partsOf(value, of)
	for _, part := range inner {
		if path, found := mistyped(part.value, part.of); found != nil {
			return part.path + path, found
		}
	}
	if isContainer {
		return "", nil
	}
	return "", of
}

// part is a value in another one: its path there, and the type that it should have.
type part struct {
	path  string
	value json.RawMessage
	of    reflect.Type
}

// partsOf returns the items of an array or the members of an object; false if the value is not that which its type is of.
func partsOf(value json.RawMessage, of reflect.Type) (parts []part, isContainer bool) {
	var items []json.RawMessage
	var members map[string]json.RawMessage
	switch {
	case of == timeType:
		return nil, false
	case of.Kind() == reflect.Slice && json.Unmarshal(value, &items) == nil:
		for index, item := range items {
			parts = append(parts, part{fmt.Sprintf("[%d]", index), item, of.Elem()})
		}
		return parts, true
	case (of.Kind() == reflect.Map || of.Kind() == reflect.Struct) && json.Unmarshal(value, &members) == nil:
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if member := memberType(of, name); member != nil {
				parts = append(parts, part{"." + name, members[name], member})
			}
		}
		return parts, true
	}
	return nil, false
}

// memberType returns the type that a member of an object should have; nil if it is passed over.
func memberType(of reflect.Type, name string) reflect.Type {
	if of.Kind() == reflect.Map {
		return of.Elem()
	}
	for _, field := range reflect.VisibleFields(of) {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && strings.EqualFold(cmp.Or(tag, field.Name), name) {
			return field.Type
		}
	}
	return nil
}

func typeText(of reflect.Type) string {
	if of == timeType {
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

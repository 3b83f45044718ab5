package {{go.package}}

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
)

var operationName = regexp.MustCompile(`^[a-z][A-Za-z0-9]*\.[a-z][A-Za-z0-9]*$`)

// Call calls an operation by its name, such as game.getById: also one that is newer than this version. The input is what
// becomes a JSON object, nil for none. The output is read into what output points to, such as a map or a struct, as
// [encoding/json.Unmarshal] does; not at all if it is nil.
//
// Retries, errors and options are those of all calls. An operation that this version doesn't know is sent with an
// Idempotency-Key, so that it can be attempted again whether or not it writes.
func (c *Client) Call(ctx context.Context, operation string, input, output any, options ...CallOption) error {
	if !operationName.MatchString(operation) {
		return fmt.Errorf("{{go.package}}: %w", usage("%q is not the name of an operation, such as game.getById", operation))
	}
	if target := reflect.ValueOf(output); output != nil && (target.Kind() != reflect.Pointer || target.IsNil()) {
		return fmt.Errorf("%s: %w", operation, usage("the output must be a pointer, and is %T", output))
	}
	if c == nil {
		c = &Client{}
	}
	return c.connection.call(ctx, operationNamed(operation), input, output, options)
}

// operationNamed returns what is known of an operation.
func operationNamed(id string) operation {
	for _, known := range operations {
		if known.id == id {
			return known
		}
	}
	return operation{id: id, path: "/api/trpc/" + id, writes: true}
}

package {{go.package}}

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Ptr returns a pointer to a value, for members that are one because their zero value means something.
func Ptr[T any](value T) *T {
	return &value
}

// encode writes the members of an input as JSON. It fails for what is no object, and for text that would not arrive as it is.
func encode(input any) ([]byte, error) {
	text, err := json.Marshal(input)
	switch {
	case err != nil:
		return nil, usage("the input cannot be written: %v", err)
	case string(text) == "null":
		return []byte("{}"), nil
	case text[0] != '{':
		return nil, usage("the input must be an object, and is %T", input)
	case !utf8.Valid(text) || hasReplaced(text):
		return nil, usage("the input has text that is not valid UTF-8")
	}
	return text, nil
}

// hasReplaced reports whether JSON has an escaped U+FFFD, which [encoding/json] writes for a byte that is no UTF-8, or half of a
// surrogate pair, which only raw JSON can have. A U+FFFD of the caller is written without an escape.
func hasReplaced(text []byte) bool {
	unit := func(at int) rune {
		if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
			return 0
		}
		value, _ := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
		return rune(value)
	}
	for at := 0; at < len(text); at++ {
		if text[at] != '\\' {
			continue
		}
		first := unit(at)
		if utf16.IsSurrogate(first) {
			if utf16.DecodeRune(first, unit(at+6)) == utf8.RuneError {
				return true
			}
			at += 6
		}
		if first == utf8.RuneError {
			return true
		}
		// The character after a backslash is none that begins an escape.
		at++
	}
	return false
}

func enveloped(text []byte) []byte {
	return slices.Concat([]byte(`{"json":`), text, []byte("}"))
}

// Change is what an update does to a text that can be cleared. The zero Change leaves it as it is.
type Change struct {
	text  *string
	given bool
}

// SetTo gives a text a new value.
func SetTo(text string) Change {
	return Change{text: &text, given: true}
}

// Clear takes a text away.
func Clear() Change {
	return Change{given: true}
}

// IsZero reports whether nothing changes; such a change is not sent.
func (c Change) IsZero() bool {
	return !c.given
}

// MarshalJSON writes the new value, or null to clear.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(c.text)
}

// ListChange is what an update does to a list that can be cleared. The zero ListChange leaves it as it is.
type ListChange[T any] struct {
	items []T
	given bool
}

// SetListTo gives a list new items. Without any it is empty, which is not the same as cleared.
func SetListTo[T any](items ...T) ListChange[T] {
	return ListChange[T]{items: append([]T{}, items...), given: true}
}

// ClearList takes a list away.
func ClearList[T any]() ListChange[T] {
	return ListChange[T]{given: true}
}

// IsZero reports whether nothing changes; such a change is not sent.
func (c ListChange[T]) IsZero() bool {
	return !c.given
}

// MarshalJSON writes the new items, or null to clear.
func (c ListChange[T]) MarshalJSON() ([]byte, error) {
	return json.Marshal(c.items)
}

package {{go.package}}

import "encoding/json"

// Ptr returns a pointer to a value, for members that are one because their zero value means something.
func Ptr[T any](value T) *T {
	return &value
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

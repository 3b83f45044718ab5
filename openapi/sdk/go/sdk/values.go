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

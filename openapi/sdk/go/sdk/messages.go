// {{#events}}
package {{go.package}}

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"time"
)

// message is one of a stream of Server-Sent Events.
type message struct {
	// event is its type; "" for the usual one.
	event string
	data  string
	// id is that of the last message that had one.
	id string
}

// messages reads a stream of Server-Sent Events (HTML, section 9.2).
type messages struct {
	reader *bufio.Reader
	// afterCR says that a line feed belongs to the line before.
	afterCR bool
	id      string
	// retry is how long the service wants the client to stay away after a break; nil if it doesn't say.
	retry *time.Duration
	// onLine is called for each line, as a sign of life.
	onLine func()
	// left is how many bytes the message at hand may still have.
	left int
}

func messagesIn(body io.Reader, onLine func()) *messages {
	return &messages{reader: bufio.NewReader(body), onLine: onLine}
}

// next returns the next message that has data. One that the end of the stream cuts off is none.
func (m *messages) next() (message, error) {
	var found message
	var data []string
	id := m.id
	m.left = longestBody
	for {
		line, err := m.line()
		if err != nil {
			return message{}, err
		}
		if line == "" {
			m.id = id
			if data != nil {
				found.id, found.data = id, strings.Join(data, "\n")
				return found, nil
			}
			found = message{}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			found.event = value
		case "data":
			data = append(data, value)
		case "id":
			if value != "" && !strings.Contains(value, "\x00") {
				id = value
			}
		case "retry":
			if millis, err := strconv.ParseUint(value, 10, 32); err == nil {
				m.retry = Ptr(time.Duration(millis) * time.Millisecond)
			}
		}
	}
}

// line returns the next line, which ends with CR, LF or both.
func (m *messages) line() (string, error) {
	var line []byte
	for {
		char, err := m.reader.ReadByte()
		if err != nil {
			return "", err
		}
		if m.left--; m.left < 0 {
			return "", errLongMessage
		}
		isRest := char == '\n' && m.afterCR
		m.afterCR = char == '\r'
		switch {
		case isRest:
		case char == '\n' || char == '\r':
			m.onLine()
			return strings.TrimPrefix(string(line), "\ufeff"), nil
		default:
			line = append(line, char)
		}
	}
}
// {{/events}}

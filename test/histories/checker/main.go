// Decides whether a history is linearizable: histories of one record or user each, as JSON lines on the standard input.
//
//	checker [-timeout 5m] < history.jsonl
//
// It prints the counts as JSON. A history that no order explains goes to the standard error, one operation a line; the status
// is then 1. A history that takes longer than the timeout is undecided; the status is then 2.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// entry is a line of a history. Times are microseconds.
type entry struct {
	Client    int     `json:"client"`
	Operation string  `json:"operation"`
	User      string  `json:"user"`
	Record    string  `json:"record"`
	Input     input   `json:"input"`
	Key       string  `json:"key"`
	Call      int64   `json:"call"`
	Return    int64   `json:"return"`
	Outcome   string  `json:"outcome"`
	Reason    string  `json:"reason"`
	Repeats   string  `json:"repeats"`
	Output    *output `json:"output"`
}

type input struct {
	Type     string    `json:"type"`
	Title    string    `json:"title"`
	Nickname string    `json:"nickname"`
	Avatar   string    `json:"avatar"`
	TagNames *[]string `json:"tagNames"`
}

type viewer struct {
	Favorited bool    `json:"favorited"`
	Reaction  *string `json:"reaction"`
}

type output struct {
	Title         string  `json:"title"`
	Nickname      string  `json:"nickname"`
	Avatar        string  `json:"avatar"`
	Tags          string  `json:"tags"`
	Favorited     bool    `json:"favorited"`
	Reaction      *string `json:"reaction"`
	FavoriteCount int     `json:"favoriteCount"`
	LikeCount     int     `json:"likeCount"`
	DislikeCount  int     `json:"dislikeCount"`
	Viewer        *viewer `json:"viewer"`
}

// action is a step of a model; user is the bit of the user who takes it, text what a register is to hold.
type action struct {
	entry *entry
	write bool
	user  uint64
	text  string
}

const erasure = "erasure"

// What an operator does to a record: it is hidden, or removed with its author.
const (
	hiding  = "hiding"
	removal = "removal"
)

// The states of a record, and what a call tells of it.
const (
	there   = "there"
	hidden  = "hidden"
	gone    = "gone"
	deleted = "deleted"
)

// seen is what a client was told of the state; nil for an unknown outcome.
type seen interface{}

type marks struct{ likes, dislikes uint64 }
type counts struct{ likes, dislikes int }
type favorites struct {
	favorited bool
	count     int
}
type reactions struct {
	reaction string
	counts   counts
}

func ones(bits uint64) int {
	n := 0
	for ; bits != 0; bits &= bits - 1 {
		n++
	}
	return n
}

func reactionOf(pointer *string) string {
	if pointer == nil {
		return ""
	}
	return *pointer
}

func countsOf(m marks) counts { return counts{ones(m.likes), ones(m.dislikes)} }

type step = func(state interface{}, did action, told seen) (bool, interface{})

// accepts tells whether a client was told what holds; an unknown outcome tells nothing.
func accepts(told seen, holds interface{}, next interface{}) (bool, interface{}) {
	return told == nil || told == holds, next
}

// viewerFavorite: a favorite of one user, set and unset in turns.
func viewerFavorite(state interface{}, did action, told seen) (bool, interface{}) {
	favorited := state.(bool)
	if did.write {
		favorited = !favorited
	}
	return accepts(told, favorited, favorited)
}

// viewerReaction: the same reaction again removes it, the other one takes its place.
func viewerReaction(state interface{}, did action, told seen) (bool, interface{}) {
	reaction := state.(string)
	if did.write {
		if reaction == did.entry.Input.Type {
			reaction = ""
		} else {
			reaction = did.entry.Input.Type
		}
	}
	return accepts(told, reaction, reaction)
}

// recordFavorites: the users who have a record as a favorite. Reads see their number, toggles also the own state.
func recordFavorites(state interface{}, did action, told seen) (bool, interface{}) {
	users := state.(uint64)
	if !did.write {
		return accepts(told, ones(users), users)
	}
	if did.entry.Operation == erasure {
		return true, users &^ did.user
	}
	users ^= did.user
	return accepts(told, favorites{users&did.user != 0, ones(users)}, users)
}

// recordReactions: the users who like and dislike a record.
func recordReactions(state interface{}, did action, told seen) (bool, interface{}) {
	before := state.(marks)
	if !did.write {
		return accepts(told, countsOf(before), before)
	}
	after := marks{before.likes &^ did.user, before.dislikes &^ did.user}
	if did.entry.Operation == erasure {
		return true, after
	}
	reaction := ""
	switch wanted := did.entry.Input.Type; {
	case wanted == "like" && before.likes&did.user == 0:
		after.likes |= did.user
		reaction = wanted
	case wanted == "dislike" && before.dislikes&did.user == 0:
		after.dislikes |= did.user
		reaction = wanted
	}
	return accepts(told, reactions{reaction, countsOf(after)}, after)
}

// register: reads see the text that was written last; before the first write, that of the first read.
func register(state interface{}, did action, told seen) (bool, interface{}) {
	if did.write {
		return accepts(told, did.text, did.text)
	}
	if state == nil {
		return true, told
	}
	return told == state, state
}

// life: calls find a record until an operator hides it, or its end. The author deletes it once, hidden or not.
func life(state interface{}, did action, told seen) (bool, interface{}) {
	now := state.(string)
	isDeletion := strings.HasSuffix(did.entry.Operation, ".delete")
	switch {
	case did.entry.Operation == removal:
		return true, deleted
	case did.entry.Operation == hiding:
		if now == there {
			now = hidden
		}
		return true, now
	case did.write:
		return told == nil || now != deleted, deleted
	case told == there:
		return now == there, now
	default:
		return now == deleted || now == hidden && !isDeletion, now
	}
}

// part is the history of one thing.
type part struct {
	name       string
	step       step
	init       interface{}
	operations []porcupine.Operation
}

type history struct {
	parts map[string]*part
	users map[string]uint64
}

func (h *history) bit(user string) uint64 {
	if _, known := h.users[user]; !known {
		if len(h.users) == 64 {
			panic("a history has at most 64 users")
		}
		h.users[user] = 1 << uint(len(h.users))
	}
	return h.users[user]
}

func (h *history) add(name string, step step, init interface{}, e *entry, isWrite bool, told seen) {
	h.put(name, step, init, action{entry: e, write: isWrite}, told)
}

// set adds a write of a register, or a read of it where it is not among what is written.
func (h *history) set(name string, e *entry, text string, isWrite bool, told string) {
	if isWrite || e.Outcome != "unknown" {
		h.put(name, register, nil, action{entry: e, write: isWrite, text: text}, told)
	}
}

func (h *history) put(name string, step step, init interface{}, did action, told seen) {
	e := did.entry
	did.user = h.bit(e.User)
	one, known := h.parts[name]
	if !known {
		one = &part{name: name, step: step, init: init}
		h.parts[name] = one
	}
	returned := e.Return
	if e.Outcome == "unknown" {
		// It may have happened at any time since; last of all is the same as never.
		returned, told = math.MaxInt64, nil
	}
	one.operations = append(one.operations, porcupine.Operation{
		ClientId: e.Client,
		Input:    did,
		Call:     e.Call,
		Output:   told,
		Return:   returned,
	})
}

// note adds an entry to the history of each thing that it tells of.
func (h *history) note(e *entry) {
	isUser := e.Operation == "user.getProfile" || e.Operation == "user.me" || e.Operation == "user.search"
	isRead := isUser || strings.HasSuffix(e.Operation, ".getById") || strings.HasSuffix(e.Operation, ".list") ||
		e.Operation == "game.getRelated"
	isOfRecord := strings.HasPrefix(e.Operation, "game.") || strings.HasPrefix(e.Operation, "image.")
	isDeletion := isOfRecord && strings.HasSuffix(e.Operation, ".delete")
	if e.Record != "" && e.Repeats == "" {
		switch {
		case e.Operation == hiding || e.Operation == removal || (isDeletion && e.Outcome != "refused"):
			h.add("life of "+e.Record, life, there, e, true, deleted)
		case e.Outcome == "refused" && (e.Reason == "GAME_NOT_FOUND" || e.Reason == "IMAGE_POST_NOT_FOUND"):
			h.add("life of "+e.Record, life, there, e, false, gone)
		case isOfRecord && e.Outcome == "ok":
			h.add("life of "+e.Record, life, there, e, false, there)
		}
	}
	// Refusals changed nothing; a repetition is the same operation as the first.
	if e.Outcome == "refused" || e.Repeats != "" || (isRead && e.Outcome == "unknown") || e.Record == "" {
		return
	}
	out := e.Output
	if out == nil {
		out = &output{}
	}
	viewed := fmt.Sprintf(" of %s by user %s", e.Record, e.User)
	of := " of " + e.Record
	switch {
	case strings.HasSuffix(e.Operation, ".toggleFavorite"):
		h.add("favorite"+viewed, viewerFavorite, false, e, true, out.Favorited)
		h.add("favorites"+of, recordFavorites, uint64(0), e, true, favorites{out.Favorited, out.FavoriteCount})
	case strings.HasSuffix(e.Operation, ".toggleReaction"):
		reaction := reactionOf(out.Reaction)
		h.add("reaction"+viewed, viewerReaction, "", e, true, reaction)
		h.add("reactions"+of, recordReactions, marks{}, e, true, reactions{reaction, counts{out.LikeCount, out.DislikeCount}})
	case e.Operation == erasure:
		h.add("favorites"+of, recordFavorites, uint64(0), e, true, nil)
		h.add("reactions"+of, recordReactions, marks{}, e, true, nil)
	case isOfRecord && strings.HasSuffix(e.Operation, ".update") || strings.HasSuffix(strings.ToLower(e.Operation), "create"):
		// The id of a record is known from its answer only.
		h.set("title"+of, e, e.Input.Title, e.Input.Title != "", out.Title)
		tags := e.Input.TagNames
		h.set("tags"+of, e, strings.Join(tagsIn(tags), ","), tags != nil, out.Tags)
	case e.Operation == "user.updateProfile" || e.Operation == "user.updateAvatar":
		h.set("nickname"+of, e, e.Input.Nickname, e.Input.Nickname != "", out.Nickname)
		h.set("avatar"+of, e, e.Input.Avatar, e.Input.Avatar != "", out.Avatar)
	case isUser:
		h.set("nickname"+of, e, "", false, out.Nickname)
		h.set("avatar"+of, e, "", false, out.Avatar)
	case isRead:
		if out.Viewer != nil {
			h.add("favorite"+viewed, viewerFavorite, false, e, false, out.Viewer.Favorited)
			h.add("reaction"+viewed, viewerReaction, "", e, false, reactionOf(out.Viewer.Reaction))
		}
		h.add("favorites"+of, recordFavorites, uint64(0), e, false, out.FavoriteCount)
		h.add("reactions"+of, recordReactions, marks{}, e, false, counts{out.LikeCount, out.DislikeCount})
		h.set("title"+of, e, "", false, out.Title)
		h.set("tags"+of, e, "", false, out.Tags)
	}
}

func tagsIn(names *[]string) []string {
	if names == nil {
		return nil
	}
	return *names
}

// withoutImplied leaves out each read in whose time another one began and ended that was told the same: it can have the same place
// in any order. Reads of a crowd would else be tried in each order of theirs.
func (p *part) withoutImplied() []porcupine.Operation {
	byReturn := append([]porcupine.Operation{}, p.operations...)
	sort.SliceStable(byReturn, func(a, b int) bool { return byReturn[a].Return < byReturn[b].Return })
	latestCall := map[interface{}]int64{}
	kept := []porcupine.Operation{}
	for _, one := range byReturn {
		if !one.Input.(action).write {
			if call, known := latestCall[one.Output]; known && call >= one.Call {
				continue
			}
			latestCall[one.Output] = one.Call
		}
		kept = append(kept, one)
	}
	return kept
}

func (p *part) model() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return p.init },
		Step: func(state, did, told interface{}) (bool, interface{}) { return p.step(state, did.(action), told) },
	}
}

func describe(one porcupine.Operation) string {
	did := one.Input.(action)
	e := did.entry
	told := "outcome unknown"
	until := "…"
	if e.Outcome != "unknown" {
		told = fmt.Sprintf("%+v", one.Output)
		until = fmt.Sprintf("%.3f", float64(e.Return)/1000)
	}
	given := strings.TrimSpace(e.Input.Type + " " + did.text)
	return fmt.Sprintf("  %.3f – %s ms, client %d of user %s, %s(%s) %s: %s",
		float64(e.Call)/1000, until, e.Client, e.User, e.Operation, given, e.Key, told)
}

const shown = 12

// explain prints how far the longest order gets, and the operations of which none can be the next.
func (p *part) explain(info porcupine.LinearizationInfo) {
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	fmt.Fprintf(os.Stderr, "%s: no order explains its %d operations; the longest ends after %d, with\n",
		p.name, len(p.operations), len(longest))
	first := len(longest) - shown
	if first < 0 {
		first = 0
	}
	for _, one := range longest[first:] {
		fmt.Fprintln(os.Stderr, describe(one))
	}
	placed := map[*entry]bool{}
	for _, one := range longest {
		placed[one.Input.(action).entry] = true
	}
	rest := []porcupine.Operation{}
	for _, one := range p.operations {
		if !placed[one.Input.(action).entry] {
			rest = append(rest, one)
		}
	}
	sort.SliceStable(rest, func(a, b int) bool { return rest[a].Call < rest[b].Call })
	if len(rest) > shown {
		rest = rest[:shown]
	}
	fmt.Fprintln(os.Stderr, " and cannot go on with")
	for _, one := range rest {
		fmt.Fprintln(os.Stderr, describe(one))
	}
}

func read(file *os.File) (*history, int, error) {
	h := &history{parts: map[string]*part{}, users: map[string]uint64{}}
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 1<<20), 1<<30)
	entries := 0
	for lines.Scan() {
		e := &entry{}
		if err := json.Unmarshal(lines.Bytes(), e); err != nil {
			return nil, entries, fmt.Errorf("line %d: %w", entries+1, err)
		}
		h.note(e)
		entries++
	}
	return h, entries, lines.Err()
}

func main() {
	timeout := flag.Duration("timeout", 5*time.Minute, "how long one history may take")
	flag.Parse()
	h, entries, err := read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	names := make([]string, 0, len(h.parts))
	for name := range h.parts {
		names = append(names, name)
	}
	sort.Strings(names)
	operations, unexplained, undecided := 0, 0, 0
	for _, name := range names {
		one := h.parts[name]
		operations += len(one.operations)
		searched := one.withoutImplied()
		// A history that has an order needs no explanation, which takes memory.
		switch porcupine.CheckOperationsTimeout(one.model(), searched, *timeout) {
		case porcupine.Illegal:
			unexplained++
			_, info := porcupine.CheckOperationsVerbose(one.model(), searched, *timeout)
			one.explain(info)
		case porcupine.Unknown:
			undecided++
			fmt.Fprintf(os.Stderr, "%s: its %d operations took longer than %s\n", name, len(one.operations), *timeout)
		}
	}
	fmt.Printf(`{"entries":%d,"histories":%d,"operations":%d,"unexplained":%d,"undecided":%d}`+"\n",
		entries, len(names), operations, unexplained, undecided)
	if unexplained > 0 {
		os.Exit(1)
	}
	if undecided > 0 {
		os.Exit(2)
	}
}

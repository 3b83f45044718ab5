// Package {{go.package}} is a client of {{title}}: games, image posts and users, to list, search, publish and react to.
//
// [New] makes a [Client]; each of its services has a method for each operation, which takes a context, the parameters and
// options for this one call.
//
// # Parameters
//
// A member that can be left out is left out when it has its zero value: the empty text, 0, nil. What is not the same when it
// is false, such as IsFree, and what an update leaves as it is, such as Title, is a pointer, for which there is [Ptr]. What an
// update can also clear is a [Change], of a list a [ListChange]. Rules such as lengths are checked by the service alone, which
// names all faults at once.
//
// # Results
//
// A member that can be null is a pointer. Values that are new to an enumeration are kept as the text they are, and members
// that this version does not know are left out: newer services break nothing. [WithResponse] hands out what came beside
// the result, such as the request id and what is left of the rate.
//
// [Client.Call] calls an operation by its name, also one that is newer than this version.
//
// # Pages
//
// List returns one page, which knows the next one; ListPages goes through all pages, and ListAll through all records. Both ask
// for a page when it is needed. [WithMaxRecords] limits the records of ListAll; Limit is the size of pages.
//
//	for game, err := range client.Game.ListAll(ctx, {{go.package}}.GameListInput{Search: "star"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(game.Title)
//	}
//
// {{#events}}
// # Events
//
// [EventService.Follow] goes through the feed of changes and waits for more; [Follower.Cursor] is from where to go on after a
// restart. [UnwrapWebhook] checks and reads a message of a webhook, which is a [WebhookMessage] or a
// [*WebhookVerificationError].
//
// {{/events}}
// # Errors
//
// A failed call returns one of three types, all of which match [ErrGateway]:
//
//   - [*APIError]: the service answered a failure. Branch on Reason, such as GAME_NOT_FOUND, or match the kind:
//     [ErrBadRequest], [ErrAuthentication], [ErrPermissionDenied], [ErrNotFound], [ErrConflict], [ErrPayloadTooLarge],
//     [ErrUnprocessable], [ErrRateLimit], [ErrServer].
//   - [*ConnectionError]: there was no reply, or not the whole of one. It matches [ErrTimeout] if time ran out.
//   - [*UnexpectedReplyError]: something answered that is not {{service}}.
//
// A call whose context ended returns an error that wraps the context's own. Options that make no sense are a [*UsageError] of
// New or of the call, before anything is sent. No error shows the API key, or the input.
//
// # Attempts
//
// A call is attempted up to three times ([WithMaxRetries]): again after connection errors, timeouts, the statuses 408, 429,
// 500, 502, 503 and 504, and the conflict IDEMPOTENCY_IN_PROGRESS, unless the reply's X-Should-Retry says otherwise. Between
// attempts it waits as Retry-After says, if that is less than a minute (else the error is returned at once), and without
// it 0.5 s, 1 s, 2 s … up to 8 s, less up to a quarter at random. Each attempt has 30 s ([WithTimeout]), 5 s of them to
// connect ([WithConnectTimeout]). Operations that write carry an Idempotency-Key, the same on each attempt, so that what was
// done is not done again; [WithIdempotencyKey] sets it, to repeat a write also after a crash.
//
// [WithAttemptHook] shows each attempt to a function, and {{environment}}_LOG=debug on standard error.
//
// # Connections
//
// Clients made by New have connections of their own, and honour HTTP_PROXY, HTTPS_PROXY and NO_PROXY, also in lower case; those
// made by [Client.With] share connections with the client they are made from. Of 100 calls at once, or as [WithMaxConnections] says,
// each has a connection; others wait for their turn. [WithHTTPClient] replaces what sends calls. No
// client needs to be closed; see [Client.CloseIdleConnections].
//
// # Tests
//
// [WithClock] replaces the clock by which calls wait, [WithHTTPClient] that which sends them.
package {{go.package}}

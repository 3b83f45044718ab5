// node client.mjs <types> <file>: writes the client, its services and their methods, beside the types.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '../settings.mjs';
import { exportedName, variableName } from './names.mjs';

const [typesFile, file] = process.argv.slice(2);
const read = (name) => JSON.parse(readFileSync(join(process.env.SDK_BUILD, name), 'utf8'));

const operations = read('operations.json');
const types = readFileSync(typesFile, 'utf8');
const { title, go } = readSettings();
const routers = [...new Set(operations.map(({ router }) => router))];

const WIDTH = 117;

/** A comment in lines that are not too long. */
const comment = (text) =>
  text
    .replaceAll('`', '')
    .split(' ')
    .reduce(
      ([line, ...lines], word) => {
        const longer = `${line} ${word}`;
        return longer.length > WIDTH ? [`// ${word}`, line, ...lines] : [longer, ...lines];
      },
      ['//'],
    )
    .toReversed()
    .join('\n');

/** The paragraph on the deprecation of an operation: nothing without one. */
const deprecation = ({ deprecated }) =>
  deprecated === undefined ? '' : `\n//\n${comment(`Deprecated: ${deprecated}`)}`;

const access = ({ access: scope }) =>
  scope === 'public' ? 'It needs no key.' : `It needs a key with the scope ${scope}.`;

const operationOf = ({ router, name }) => router + exportedName(name);

const variable = (operation) => `${operationOf(operation)} = operation{
		id:      "${operation.id}",
		path:    "${operation.path}",
		writes:  ${operation.writes},
		members: []string{${operation.outputMembers.map((member) => `"${member}"`).join(', ')}},
	}`;

const namesOf = ({ name, router, input, output, item }) => ({
  service: `${exportedName(router)}Service`,
  method: exportedName(name),
  parameters: `ctx context.Context, ${input ? `input ${exportedName(input)}, ` : ''}options ...CallOption`,
  value: input ? 'input' : 'struct{}{}',
  output: exportedName(output),
  item: item && exportedName(item),
});

const described = (operation) => {
  const { method } = namesOf(operation);
  const { description } = operation;
  return comment(`${method} ${description[0].toLowerCase()}${description.slice(1)} ${access(operation)}`);
};

/** The only member that an input must have: its name, that of a variable for it, and its type; undefined of other inputs. */
const bareMember = ({ input, bare: member }) => {
  if (member === undefined) return undefined;
  const name = exportedName(member);
  const [, type] = new RegExp(`^type ${exportedName(input)} struct {[^}]*?^\\t${name} +(\\S+) `, 'ms').exec(types);
  return { name, variable: variableName(member), type };
};

/** The method that takes the value of the only member that is required. */
const callWithValue = (operation) => {
  const only = bareMember(operation);
  if (!only) return '';
  const { service, method, output } = namesOf(operation);
  return `
${comment(`${method}For is ${method} with the only member that its input must have, ${only.name}.`)}${deprecation(operation)}
func (s *${service}) ${method}For(ctx context.Context, ${only.variable} ${only.type}, options ...CallOption) (*${output}, error) {
	return s.${method}(ctx, ${exportedName(operation.input)}{${only.name}: ${only.variable}}, options...)
}
`;
};

/** The stream of a feed. */
const tailOf = ({ router }) => ({ id: `${router}.tail`, path: `/api/trpc/${router}.tail` });

const FOLLOWED_AGAIN = 'After a restart from [Follower.Cursor] an event may come again: each comes at least once.';

/** The methods that go through a feed as its events happen. */
const followCall = (operation) => {
  if (!operation.followed) return '';
  const item = exportedName(operation.followed);
  const { service, method, parameters } = namesOf(operation);
  const { id, path } = tailOf(operation);
  const tail = `operation{id: "${id}", path: "${path}"}`;
  return `
${comment(`Follow goes through what ${method} lists from the place that the input names, else from now on, and waits for more, until the caller breaks off, the context ends or a page fails. Events come by the stream of Tail as they happen. Where there is none, it asks for pages: when there are no more events for now, it waits as [WithPollInterval] says. ${FOLLOWED_AGAIN} ${access(operation)}`)}${deprecation(operation)}
func (s *${service}) Follow(${parameters}) *Follower[${item}] {
	fetch := func(ctx context.Context, after string) (feedPage[${item}], error) {
		switch {
		case after == "":
			input.Start = cmp.Or(input.Start, "latest")
		case after != input.After:
			input.Start = ""
		}
		input.After = after
		page, err := s.${method}(ctx, input, options...)
		if err != nil {
			return feedPage[${item}]{}, err
		}
		return feedPage[${item}]{items: page.Items, nextCursor: page.NextCursor, hasMore: page.HasMore}, nil
	}
	return &Follower[${item}]{
		ctx: ctx, connection: s.via(), options: options, tail: ${tail}, input: input, start: input.After,
		pages: &pages[${item}]{operation: ${operationOf(operation)}, fetch: fetch},
	}
}

${comment(`Tail goes through the same events as Follow, by a stream alone: it fails if that cannot be opened, which is attempted as any call is. A stream that breaks, or is silent for longer than [WithSilence] says, is opened again where it was. It takes none of the turns of [WithMaxConnections]. Limit counts for nothing. ${FOLLOWED_AGAIN} ${access(operation)}`)}${deprecation(operation)}
func (s *${service}) Tail(${parameters}) *Follower[${item}] {
	return &Follower[${item}]{ctx: ctx, connection: s.via(), options: options, tail: ${tail}, input: input, start: input.After}
}
`;
};

const call = (operation) => {
  const { service, method, parameters, value, output } = namesOf(operation);
  return `${described(operation)}${deprecation(operation)}
func (s *${service}) ${method}(${parameters}) (*${output}, error) {
${operation.limited ? '\tinput.Limit = cmp.Or(input.Limit, listSize)\n' : ''}	return perform[${output}](ctx, s.via(), ${operationOf(operation)}, ${value}, options)
}
${callWithValue(operation)}${followCall(operation)}`;
};

const listCalls = (operation) => {
  const { service, method, parameters, output, item } = namesOf(operation);
  const [all, pages] = [`${method}All`, `${method}Pages`];
  return `${described(operation)}
${comment(`It returns one page, of 20 records without a Limit, the first one without a Page or a Cursor; see ${all} for all records, and ${pages} for all pages.`)}${deprecation(operation)}
func (s *${service}) ${method}(${parameters}) (*${output}, error) {
	input.Limit = cmp.Or(input.Limit, listSize)
	if input.Cursor == "" {
		input.Page = cmp.Or(input.Page, firstPage)
	}
	page, err := perform[${output}](ctx, s.via(), ${operationOf(operation)}, input, options)
	if err != nil {
		return nil, err
	}
	if page.NextCursor != nil {
		input.Cursor = *page.NextCursor
		if input.Page != 0 {
			input.Page++
		}
		page.next = func(ctx context.Context) (*${output}, error) { return s.${method}(ctx, input, options...) }
	}
	return page, nil
}

${comment(`${pages} goes through the pages of ${method}, from the cursor of the input or else from its page, and asks for a page when it is needed. The options apply to each page. An error comes after the pages before it, and is the last that comes. Limit is the size of pages: 100 without one.`)}${deprecation(operation)}
func (s *${service}) ${pages}(${parameters}) iter.Seq2[*${output}, error] {
	input.Limit = cmp.Or(input.Limit, pageSize)
	return pagesFrom(ctx, func() (*${output}, error) { return s.${method}(ctx, input, options...) })
}

${comment(`${all} goes through the records of the pages of ${method}, as ${pages} does, and asks for a page when its first record is needed. An error comes after the records before it, and is the last that comes. Limit is the size of pages, not how many records come: for that, there is [WithMaxRecords].`)}${deprecation(operation)}
func (s *${service}) ${all}(${parameters}) iter.Seq2[${item}, error] {
	return recordsOf(s.via(), options, s.${pages}(ctx, input, options...))
}

// HasNextPage reports whether records follow this page.
func (p *${output}) HasNextPage() bool {
	return p.NextCursor != nil
}

// NextPage returns the page after this one, with the same parameters and options. It fails if there is none.
func (p *${output}) NextPage(ctx context.Context) (*${output}, error) {
	return nextPage(ctx, p.next)
}

func (p *${output}) records() []${item} { return p.Items }
`;
};

const lines = (values, text) => values.map(text).join('\n');

const client = `// Code generated from the operations of the document. DO NOT EDIT.

package ${go.package}

import (
	"cmp"
	"context"
	"iter"
)

// Client calls ${title}. [New] makes one, which can be used by several goroutines at once.
type Client struct {
${lines(
  routers,
  (router) => `	// ${exportedName(router)} has the operations ${router}.*.
	${exportedName(router)} *${exportedName(router)}Service`,
)}

	connection *connection
}

func clientOf(c *connection) *Client {
	return &Client{${routers.map((router) => `${exportedName(router)}: &${exportedName(router)}Service{c}`).join(', ')}, connection: c}
}

// String says where the client sends calls. It doesn't show the key.
func (c *Client) String() string {
	if c == nil || c.connection == nil {
		return "${go.package}.Client without a connection"
	}
	return "${go.package}.Client of " + c.connection.origin
}
${lines(
  routers,
  (router) => `
// ${exportedName(router)}Service has the operations ${router}.*. It is a member of [Client].
type ${exportedName(router)}Service struct{ connection *connection }

// via returns what calls go through: nil of a client that New hasn't made.
func (s *${exportedName(router)}Service) via() *connection {
	if s == nil {
		return nil
	}
	return s.connection
}`,
)}

var (
${lines(operations, (each) => `	${variable(each)}`)}

	operations = []operation{${operations.map(operationOf).join(', ')}}
)

${lines(operations, (each) => (each.item ? listCalls(each) : call(each)))}`;

writeFileSync(file, client);

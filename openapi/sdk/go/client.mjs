// node client.mjs <file>: writes the client, its services and their methods.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '../settings.mjs';
import { exportedName } from './names.mjs';

const operations = JSON.parse(readFileSync(join(process.env.SDK_BUILD, 'operations.json'), 'utf8'));
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

const call = (operation) => {
  const { service, method, parameters, value, output } = namesOf(operation);
  return `${described(operation)}
func (s *${service}) ${method}(${parameters}) (*${output}, error) {
	return perform[${output}](ctx, s.connection, ${operationOf(operation)}, ${value}, options)
}
`;
};

const listCalls = (operation) => {
  const { service, method, parameters, output, item } = namesOf(operation);
  const all = `${method}All`;
  return `${described(operation)}
${comment(`It returns one page; see ${all} for all records.`)}
func (s *${service}) ${method}(${parameters}) (*${output}, error) {
	page, err := perform[${output}](ctx, s.connection, ${operationOf(operation)}, input, options)
	if err != nil {
		return nil, err
	}
	if page.NextCursor != nil {
		input.Cursor = *page.NextCursor
		page.next = func(ctx context.Context) (*${output}, error) { return s.${method}(ctx, input, options...) }
	}
	return page, nil
}

${comment(`${all} goes through the records of all pages of ${method}, from the cursor of the input or else from its page, and asks for a page when its first record is needed. The options apply to each page. An error comes after the records before it, and is the last that comes. Without a limit, pages are of 100 records.`)}
func (s *${service}) ${all}(${parameters}) iter.Seq2[${item}, error] {
	input.Page, input.Limit = cmp.Or(input.Page, firstPage), cmp.Or(input.Limit, pageSize)
	return allOf(ctx, func() (*${output}, error) { return s.${method}(ctx, input, options...) })
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
	return "${go.package}.Client of " + c.connection.origin
}
${lines(
  routers,
  (router) => `
// ${exportedName(router)}Service has the operations ${router}.*. It is a member of [Client].
type ${exportedName(router)}Service struct{ connection *connection }`,
)}

var (
${lines(operations, (each) => `	${variable(each)}`)}
)

${lines(operations, (each) => (each.item ? listCalls(each) : call(each)))}`;

writeFileSync(process.argv[2], client);

import { limitsOf } from './limits.js';

const JSON_TYPE = 'application/json';

const isSuccess = (_response, status) => status.startsWith('2');

const examplesOf = (response) => response.getIn(['content', JSON_TYPE, 'examples']);

const messageOf = (example) => example?.getIn(['value', 'error', 'json', 'message']);

/** A documented failure: status and reasons in one line, which opens to show the reply of one of them. */
const failure =
  ({ React: { createElement: h, useId, useState } }) =>
  ({ status, response, getComponent }) => {
    const id = useId();
    const examples = examplesOf(response);
    const reasons = examples?.keySeq().toArray() ?? [];
    const [isOpen, setOpen] = useState(false);
    const [chosen, choose] = useState(reasons[0]);
    const HighlightCode = getComponent('HighlightCode', true);
    return h(
      'li',
      { className: 'docs-failure' },
      h(
        'div',
        { className: 'docs-failure-line' },
        h(
          'button',
          {
            type: 'button',
            'aria-expanded': isOpen,
            'aria-label': `Example of a reply ${status}`,
            onClick: () => setOpen(!isOpen),
          },
          status,
        ),
        h(
          'span',
          { className: 'docs-reasons' },
          reasons.map((reason) =>
            h('a', { key: reason, href: `../errors#${reason}`, title: messageOf(examples.get(reason)) }, reason),
          ),
        ),
      ),
      isOpen &&
        h(
          'div',
          { className: 'docs-failure-example' },
          reasons.length > 1 &&
            h(
              'p',
              null,
              h('label', { htmlFor: id }, 'Reply for '),
              h(
                'select',
                { id, value: chosen, onChange: ({ target }) => choose(target.value) },
                reasons.map((reason) => h('option', { key: reason }, reason)),
              ),
            ),
          h(
            HighlightCode,
            { language: 'json', canCopy: true },
            JSON.stringify(examples.getIn([chosen, 'value']), null, 2),
          ),
        ),
    );
  };

const fold = (h, title, ...children) =>
  h('details', { className: 'docs-fold' }, h('summary', null, title), ...children);

/** The envelope of a failure in a reply, as far as it has one. */
const failureIn = (body) => {
  try {
    return JSON.parse(body).error?.json;
  } catch {
    return undefined;
  }
};

/** A text of the service, in which back quotes mark code. */
const withCode = (h, text = '') =>
  text.split('`').map((part, index) => (index % 2 === 1 ? h('code', { key: index }, part) : part));

/** A failure in words, before its JSON: the message, what to do about it, and each fault of the input. */
const explanation = (h, { message, data: { reason, hint, issues = [] } }) =>
  h(
    'div',
    { className: 'live-failure' },
    h(
      'p',
      null,
      h('strong', null, withCode(h, message)),
      ' ',
      withCode(h, hint),
      ' ',
      h('a', { href: `../errors#${reason}` }, reason),
    ),
    issues.length > 0 &&
      h(
        'ul',
        null,
        issues.map(({ path, message: fault }, index) =>
          h('li', { key: index }, h('code', null, path === '' ? 'json' : path), ' ', withCode(h, fault)),
        ),
      ),
  );

/** The headers of a reply by their names in lower case; Swagger UI cuts what has a comma into lists. */
const headersOf = (response) =>
  Object.fromEntries(
    Object.entries(response.get('headers')?.toJS() ?? {}).map(([name, value]) => [name, [value].flat().join(', ')]),
  );

/** The reply to a request that was sent, its status and limits first. */
const liveResponse = (system) => {
  const h = system.React.createElement;
  return ({ response, path, method, specSelectors, getComponent, getConfigs }) => {
    const headers = headersOf(response);
    const body = response.get('text');
    const failed = response.get('ok') ? undefined : failureIn(body);
    const request = specSelectors.mutatedRequestFor(path, method);
    const limits = limitsOf(headers);
    const ResponseBody = getComponent('responseBody');
    const RequestSnippets = getComponent('RequestSnippets', true);
    const Markdown = getComponent('Markdown', true);
    const FailedCallLink = getComponent('DocsFailedCallLink', true);
    return h(
      'section',
      { className: 'live-response', 'aria-label': 'Reply' },
      h(
        'p',
        { role: 'status', className: 'live-response-head' },
        h('strong', { className: 'live-status', 'data-success': response.get('ok') }, response.get('status')),
        ' ',
        response.get('duration') !== undefined && h('span', null, `${response.get('duration')} ms`),
        ' ',
        limits !== undefined && h('span', { className: 'live-limits' }, limits),
      ),
      failed
        ? explanation(h, failed)
        : response.get('error') && h(Markdown, { source: String(response.get('message')) }),
      failed && h(FailedCallLink, { requestId: headers['x-request-id'] }),
      body &&
        h(ResponseBody, {
          content: body,
          contentType: headers['content-type'],
          url: request?.get('url'),
          headers,
          getConfigs,
          getComponent,
        }),
      fold(
        h,
        `Headers (${Object.keys(headers).length})`,
        h(
          'pre',
          { className: 'live-headers', tabIndex: 0 },
          Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join('\n'),
        ),
      ),
      request && h(RequestSnippets, { request }),
    );
  };
};

const replies = (system) => {
  const h = system.React.createElement;
  const Failure = failure(system);
  return ({ responses, tryItOutResponse, path, method, specPath, fn, getComponent, getConfigs, specSelectors }) => {
    const LiveResponse = getComponent('liveResponse');
    const Samples = getComponent('DocsSamples', true);
    const ModelExample = getComponent('modelExample', true);
    const HighlightCode = getComponent('HighlightCode', true);
    const Headers = getComponent('headers');
    const Markdown = getComponent('Markdown', true);
    const successes = responses.filter(isSuccess);
    const failures = responses.filterNot(isSuccess);
    return h(
      'div',
      { className: 'responses-wrapper' },
      tryItOutResponse &&
        h(LiveResponse, { response: tryItOutResponse, path, method, specSelectors, getComponent, getConfigs }),
      h(Samples, { path, method }),
      h('h4', null, 'Replies'),
      successes.entrySeq().map(([status, response]) => {
        const content = response.getIn(['content', JSON_TYPE]);
        return h(
          'div',
          { key: status, className: 'docs-success' },
          h(
            'div',
            { className: 'docs-success-line' },
            h('strong', null, status),
            h(Markdown, { source: response.get('description') }),
          ),
          content &&
            h(ModelExample, {
              schema: content.get('schema'),
              example: h(
                HighlightCode,
                { language: 'json', canCopy: true },
                JSON.stringify(content.get('example'), null, 2),
              ),
              specPath: specPath.push(status, 'content', JSON_TYPE, 'schema'),
              getComponent,
              getConfigs,
              specSelectors,
              includeReadOnly: true,
              fn,
            }),
          response.get('headers') && fold(h, 'Headers', h(Headers, { headers: response.get('headers'), getComponent })),
        );
      }),
      h('h4', null, 'Errors'),
      h(
        'ul',
        { className: 'docs-failures' },
        failures.entrySeq().map(([status, response]) => h(Failure, { key: status, status, response, getComponent })),
      ),
    );
  };
};

/** Replies: what came back first, then code, what is documented, and each failure in a line of its own. */
export const repliesPlugin = (system) => ({
  wrapComponents: { responses: () => replies(system), liveResponse: () => liveResponse(system) },
});

import { type Access, type Operation, operations } from '../../../contract/index.ts';
import { escapeHtml } from '../html.ts';

/** The text of an access badge: `public`, `scope content:write`. The page uses the same words. */
const badgeOf = (access: Access): string => (access === 'public' ? access : `scope ${access}`);

const line = ({ id, router, access, route }: Operation): string => `<li class="opblock" data-operation="${id}">
<a class="opblock-summary" href="#/${router}/${id}"><span class="op-path">${id}</span>
<span class="op-text">${escapeHtml(route.summary)}</span>
<span class="op-badge">${badgeOf(access)}</span></a></li>`;

/**
 * The operations in the order of the contract, as the page shows them until Swagger UI has come.
 */
export const operationIndex = `<ol class="op-index">${operations.map(line).join('\n')}</ol>`;

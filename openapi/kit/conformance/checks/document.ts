import { z } from 'zod';
import { type Check, once, openCheck, SERVICE } from '../check.ts';
import type { Change } from '../document/change.ts';
import { changesFor } from '../document/compare.ts';
import {
  type ClientDocument,
  documented,
  type DocumentedOperation,
  jsonSchemaOf,
} from '../document/client-document.ts';
import { describeReply, demandThat, schemaFindings } from '../findings/expect.ts';
import type { Reply } from '../exchange.ts';
import { type Finding, Mismatch, Skip } from '../findings/finding.ts';
import { valueAt } from '../values.ts';
import { DOCUMENT } from '../http/base.ts';
import type { VerifySession } from '../session.ts';

// The changes for a client that was generated from another document.

/** A change as a finding. */
export const findingOf = ({ where, expected, came }: Change): Finding => ({ expected, came, at: where });

/** @throws Mismatch for the replies to an operation in this run that clients of a document cannot read */
const demandReadable = async (
  { client: { replies } }: VerifySession,
  { document }: ClientDocument,
  operation: DocumentedOperation,
): Promise<void> => {
  const schemas = new Map(
    [...operation.replies].map(([status, schema]) => [
      Number(status),
      z.fromJSONSchema(jsonSchemaOf(document, schema) as Parameters<typeof z.fromJSONSchema>[0]),
    ]),
  );
  const described = replies.filter(
    ({ subject, status, json }) => subject === operation.id && schemas.has(status) && json !== undefined,
  );
  if (described.length === 0) throw new Skip('no reply came that the document describes');
  const findings = described.flatMap((exchange) =>
    schemaFindings(schemas.get(exchange.status)!, exchange.json).map((finding) => ({ ...finding, exchange })),
  );
  if (findings.length > 0) throw new Mismatch(findings);
};

/** Checks for a client made from a document of its own; none without one. */
export const clientDocumentChecks = (session: VerifySession): Check[] => {
  const { clientDocument: client } = session;
  if (!client) return [];
  const changes = once(() => readChanges(session, client));
  return [...client.operations.values()].flatMap((operation) => [
    openCheck(operation.id, `is still what ${client.name} says`, async () => {
      const breaking = (await changes()).filter((change) => change.breaks && change.operation === operation.id);
      if (breaking.length > 0) throw new Mismatch(breaking.map(findingOf));
    }),
    openCheck(operation.id, `answers what clients of ${client.name} can read`, () =>
      demandReadable(session, client, operation),
    ),
  ]);
};

/** The reply with the published document. @throws Mismatch if none is published */
export const readDocument = async ({ client }: VerifySession): Promise<Reply> => {
  const reply = await client.send(SERVICE, DOCUMENT, { method: 'GET' });
  const isDocument = reply.status === 200 && valueAt(reply.json, ['openapi']) !== undefined;
  demandThat(isDocument, reply, { expected: `an OpenAPI document at ${DOCUMENT}`, came: describeReply(reply) });
  return reply;
};

/** The differences of the published document from a client's. @throws Mismatch if none is published */
export const readChanges = async (session: VerifySession, client: ClientDocument): Promise<Change[]> =>
  changesFor(client, documented(DOCUMENT, (await readDocument(session)).json as object));

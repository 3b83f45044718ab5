import { z } from 'zod';
import { type Check, once, SERVICE } from '../check.ts';
import { type Change, changesFor } from '../document/compare.ts';
import { type ClientDocument, documented, type DocumentedOperation } from '../document/client-document.ts';
import { jsonSchemaOf } from '../document/schema.ts';
import { describeReply, demandThat, schemaFindings } from '../findings/expect.ts';
import type { Reply } from '../exchange.ts';
import { type Finding, Mismatch, Skip } from '../findings/finding.ts';
import { valueAt } from '../values.ts';
import { DOCUMENT } from '../http/base.ts';
import type { VerifySession } from '../session.ts';

// The changes for a client that was generated from another document.

/** A change as a finding. */
export const findingOf = ({ where, expected, came }: Change): Finding => ({ expected, came, at: where });

/** A check of what an operation's replies hold, all that came in the run. */
const replyCheck = (
  session: VerifySession,
  { name, document }: ClientDocument,
  operation: DocumentedOperation,
): Check => ({
  subject: operation.id,
  name: `answers what clients of ${name} can read`,
  proves: 'form',
  needs: [],
  run: async () => {
    const schemas = new Map(
      [...operation.replies].map(([status, schema]) => [
        Number(status),
        z.fromJSONSchema(jsonSchemaOf(document, schema) as Parameters<typeof z.fromJSONSchema>[0]),
      ]),
    );
    const replies = session.client.replies.filter(
      ({ subject, status, json }) => subject === operation.id && schemas.has(status) && json !== undefined,
    );
    if (replies.length === 0) throw new Skip('no reply came that the document describes');
    const findings = replies.flatMap((reply) =>
      schemaFindings(schemas.get(reply.status) ?? z.unknown(), reply.json).map((finding) => ({
        ...finding,
        exchange: reply,
      })),
    );
    if (findings.length > 0) throw new Mismatch(findings);
  },
});

/** Checks of what a client is owed that was made from a document of its own; none without one. */
export const clientDocumentChecks = (session: VerifySession): Check[] => {
  const { clientDocument: client } = session;
  if (!client) return [];
  const changes = once(() => readChanges(session, client));
  return [...client.operations.values()].flatMap((operation) => [
    {
      subject: operation.id,
      name: `is still what ${client.name} says`,
      proves: 'form' as const,
      needs: [],
      run: async () => {
        const breaking = (await changes()).filter((change) => change.breaks && change.operation === operation.id);
        if (breaking.length > 0) throw new Mismatch(breaking.map(findingOf));
      },
    },
    replyCheck(session, client, operation),
  ]);
};

/** The reply with the published document. @throws Mismatch when none is published */
export const readDocument = async ({ client }: VerifySession): Promise<Reply> => {
  const reply = await client.send(SERVICE, DOCUMENT, { method: 'GET' });
  const isDocument = reply.status === 200 && valueAt(reply.json, ['openapi']) !== undefined;
  demandThat(isDocument, reply, { expected: `an OpenAPI document at ${DOCUMENT}`, came: describeReply(reply) });
  return reply;
};

/** The differences of the published document from a client's. @throws Mismatch when none is published */
export const readChanges = async (session: VerifySession, client: ClientDocument): Promise<Change[]> =>
  changesFor(client, documented(DOCUMENT, (await readDocument(session)).json as object));

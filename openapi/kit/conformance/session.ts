import { Calls } from './calls.ts';
import type { ClientDocument } from './document/client-document.ts';
import { OwnThings } from './own-things.ts';
import type { WebhookReceiver } from './receiver.ts';
import { Records } from './records.ts';
import type { SeededRandom } from './seed.ts';

type CallParts = ConstructorParameters<typeof Calls>[0];
type RunParts = Pick<VerifySession, 'random' | 'strict' | 'document' | 'clientDocument'>;

/** One run of the kit on a deployment: its calls, and their data. */
export class VerifySession extends Calls {
  /** The random numbers and the name of the run. */
  readonly random: SeededRandom;
  /** Whether the deployment must not have anything that the contract does not know. */
  readonly strict: boolean;
  /** The OpenAPI document of the contract. */
  readonly document: object;
  /** The document that a client was made from, if the run verifies against one. */
  readonly clientDocument: ClientDocument | undefined;
  readonly things: OwnThings;
  readonly records: Records;

  constructor(parts: CallParts & RunParts, receiver: WebhookReceiver | undefined) {
    super(parts);
    this.random = parts.random;
    this.strict = parts.strict;
    this.document = parts.document;
    this.clientDocument = parts.clientDocument;
    this.things = new OwnThings(this, this.random.run, receiver);
    this.records = new Records(this, this.random.run, this.things);
  }
}

import { demand, demandThat, OUTPUT } from './findings/expect.ts';
import { differences, show } from './findings/finding.ts';
import type { Reply } from './exchange.ts';

/** A success that is valid by the contract, and demands on its output. */
export class Answer<T> {
  readonly output: T;
  readonly reply: Reply;

  constructor(output: T, reply: Reply) {
    this.output = output;
    this.reply = reply;
  }

  /**
   * @param came the value in question, or a text about it
   * @param at its place in the output, such as `/items/0/id`
   * @throws Mismatch unless the demand holds
   */
  demand(holds: boolean, expected: string, came: unknown, at?: string): void {
    const finding = { expected, came: typeof came === 'string' ? came : show(came) };
    demandThat(holds, this.reply, at === undefined ? finding : { ...finding, at: OUTPUT + at });
  }

  /** @throws Mismatch if the output lacks something expected; it may hold more */
  demandOutput(expected: object): void {
    this.demandHas(expected, this.output);
  }

  /** @throws Mismatch if a value lacks something expected; it may hold more */
  demandHas(expected: unknown, value: unknown, at = ''): void {
    demand(this.reply, differences(expected, value, OUTPUT + at, { more: 'allowed' }));
  }

  /** @throws Mismatch unless a value equals the expected one */
  demandIs(expected: unknown, value: unknown, at = ''): void {
    demand(this.reply, differences(expected, value, OUTPUT + at));
  }
}

/** What an operation may send, and the places in its output whose members have names of the caller's own. */
export interface Parts {
  sends: string[];
  maps: string[];
}
export declare const partsOf: (document: unknown) => Record<string, Parts>;

/** What an operation may send, the places of which the least and greatest are recorded, and those in its output whose members have names of the caller's own. */
export interface Parts {
  sends: string[];
  measured: string[];
  maps: string[];
}
export declare const partsOf: (document: unknown) => Record<string, Parts>;

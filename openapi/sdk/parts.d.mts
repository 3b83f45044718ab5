/** What an operation may send, and the places in its output whose members have names of the caller's own. */
export interface Parts {
  sends: string[];
  maps: string[];
}

/** Both for each operation of a document, by id. */
export function partsOf(document: unknown): Record<string, Parts>;

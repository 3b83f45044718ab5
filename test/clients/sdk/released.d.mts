/** The last release: its compiled command line, and the folder of its documents. */
export const buildReleased: () => { program: string; documents: string };

/** The releases that are supported, from the oldest to the last. */
export const releasedVersions: readonly string[];

/** A release, by default the oldest: its folder, its compiled command line, and the folder of its documents. */
export const buildReleased: (version?: string) => { folder: string; program: string; documents: string };

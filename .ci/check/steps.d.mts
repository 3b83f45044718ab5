/** A step of the check, as far as its test reads it. */
export interface Step {
  name: string;
  proves: string;
  apart?: string[];
}

export const steps: readonly Step[];

/** Whether a file of the repository is one of the `paths`, or lies in one. */
export const liesIn: (file: string, paths: readonly string[]) => boolean;

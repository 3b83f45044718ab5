/** A step of the check, as far as its test reads it. */
export interface Step {
  name: string;
  proves: string;
  apart?: string[];
}

export const steps: readonly Step[];

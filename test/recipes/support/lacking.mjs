/** A tool cannot be had: without one a recipe or a check says nothing of the gateway. */
export class Lacking extends Error {}

/** A recipe's tool cannot be had: without one the recipe says nothing of the gateway. */
export class Lacking extends Error {}

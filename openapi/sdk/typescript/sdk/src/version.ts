/** The version of this package. */
export const VERSION = '{{version}}';

/** The version of the contract that the methods and types were made from. */
export const CONTRACT_VERSION = '{{contract}}';

/** What lines of the log begin with. */
export const PRODUCT = '{{product}}';

/** What the `User-Agent` begins with. */
export const AGENT = `${PRODUCT}-typescript/${VERSION}`;

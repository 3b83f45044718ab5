import { atHome } from '../address.js';

/** The document as the service serves it: its operations in the order of the contract, and the address of this browser in it. */
export const servedPlugin = () => ({
  statePlugins: {
    spec: { wrapActions: { updateSpec: (original) => (text) => original(text && atHome(text)) } },
  },
});

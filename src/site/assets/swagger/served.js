/** The ids of the operations in the order of the contract, as the page came with them. */
const ids = Array.from(document.querySelectorAll('[data-operation]'), ({ dataset }) => dataset.operation);

/** How many operations there are. */
export const operationCount = ids.length;

const rankOf = (operation) => ids.indexOf(operation.getIn(['operation', 'operationId']));

/** The operations of each tag in the order of the contract: the document has them sorted by path. */
export const orderPlugin = () => ({
  statePlugins: {
    spec: {
      wrapSelectors: {
        taggedOperations:
          (original) =>
          (...args) =>
            original(...args).map((tag) => tag.update('operations', (operations) => operations.sortBy(rankOf))),
      },
    },
  },
});

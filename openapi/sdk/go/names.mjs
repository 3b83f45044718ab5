const INITIALISM = /(Id|Url|Api)(?=[A-Z]|$)/g;

/** `getById` or `GameGetByIdInput` as Go writes it: `GetByID`, `GameGetByIDInput`. */
export const exportedName = (name) =>
  (name[0].toUpperCase() + name.slice(1)).replaceAll(INITIALISM, (word) => word.toUpperCase());

/** `gameId` as Go writes a variable: `gameID`. */
export const variableName = (name) => name.replaceAll(INITIALISM, (word) => word.toUpperCase());

export const freePorts: (count: number) => Promise<number[]>;
export const freePort: () => Promise<number>;

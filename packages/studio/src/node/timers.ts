/** What long work uses of node:timers/promises. */
export const setImmediate = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

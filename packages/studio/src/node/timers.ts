/** The function of node:timers/promises that long work uses. */
export const setImmediate = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

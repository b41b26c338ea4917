/** A number with what it counts, whose plural ends in s: `1 row`, `3 rows`. */
export const counted = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** The middle one; of an even number the upper of the two, as in both sides' own medians. */
export const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Median, least and most. */
export const spread = (values) => ({
  median: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
});

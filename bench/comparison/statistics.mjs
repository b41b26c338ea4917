import { median } from '../../packages/grpo/dist/maths/quantile.js';

export { median };

/** Median, least and most. */
export const spread = (values) => ({
  median: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
});

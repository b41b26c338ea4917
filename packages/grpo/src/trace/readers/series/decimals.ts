import type { MetricSeries } from '../../series.js';

/** transformers' Trainer rounds the loss to these, as `loss` alone. */
const TRAINER_DECIMALS = 4;

/** Decimals of the loss, where the Trainer has rounded it: no value has more. */
export function lossDecimals(entries: MetricSeries['entries']): MetricSeries['decimals'] {
  const losses = entries.flatMap(({ values: { loss } }) => loss ?? []);
  const finite = losses.filter(Number.isFinite);
  const rounded = finite.every((loss) => loss === Number(loss.toFixed(TRAINER_DECIMALS)));
  return finite.length > 0 && rounded ? { loss: TRAINER_DECIMALS } : undefined;
}

import { cat, noGrad, type Tensor, tidy } from '@grpo/torch';
import { sampleOf } from './sample-of.js';

/** Some elements of each tensor, as they are now. */
export type SampledValues = ReadonlyMap<string, Float32Array>;

/** Reads the same elements of each tensor whenever it is called; one copy from the device. */
export function sampledValues(tensors: ReadonlyMap<string, Tensor>): SampledValues {
  if (tensors.size === 0) return new Map();
  return noGrad(() =>
    tidy(() => {
      const views = [...tensors].map(([name, tensor]) => ({ name, view: sampleOf(tensor) }));
      const all = cat(views.map(({ view }) => view.to('float32'))).toTypedArray() as Float32Array;
      let at = 0;
      return new Map(
        views.map(({ name, view: { numel } }) => {
          at += numel;
          return [name, all.slice(at - numel, at)];
        }),
      );
    }),
  );
}

/** Names of the tensors of which some element differs, or that only one has. */
export function changedTensors(before: SampledValues, after: SampledValues): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => {
    const [a, b] = [before.get(name), after.get(name)];
    // NaN equals itself here.
    return !a || !b || a.some((value, i) => !Object.is(value, b[i]));
  });
}

import type { DecoderConfig } from '../config.js';
import { parameterSpecs } from '../parameters.js';

/** Layers that can be adapted, by name: their weights as `[out, in]`. */
export function adaptable(config: DecoderConfig): Map<string, [out: number, input: number]> {
  const layers = [...parameterSpecs(config)].filter(
    ([name, { role }]) => role === 'projection' && /\.\d+\./.test(name),
  );
  return new Map(
    layers.map(([name, { shape, transposed }]) => {
      const [out, input] = (transposed ? [...shape].reverse() : shape) as [number, number];
      return [name.replace(/\.weight$/, ''), [out, input]];
    }),
  );
}

/** The last parts of these names, once each: `q_proj`, `k_proj`, … */
export const targetNames = (names: Iterable<string>): string[] => [
  ...new Set([...names].map((name) => name.slice(name.lastIndexOf('.') + 1))),
];

/** Whether one of the targets means a layer, by PEFT's rule: its whole name, or the end of it from a dot on. */
export const isTarget = (name: string, targets: readonly string[]): boolean =>
  targets.some((target) => name === target || name.endsWith(`.${target}`));

/** The layers that targets mean: all that can be adapted when none are given. */
export function adaptedLayers(
  config: DecoderConfig,
  targets: readonly string[] | undefined,
): [out: number, input: number][] {
  return [...adaptable(config)].flatMap(([name, shape]) =>
    targets === undefined || isTarget(name, targets) ? [shape] : [],
  );
}

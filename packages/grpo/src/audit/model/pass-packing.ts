import { cat, type Tensor } from '@grpo/torch';
import type { Segment } from '../../models/index.js';
import type { PlainSequence } from '../plain/plain-pass.js';
import type { PlainRun } from './plain-run.js';

/** Passes of the plain path, packed as the trainer packs them: a prompt is there once for all of its completions. */
export interface PassPacking {
  segments: Segment[];
  /** Rows of each segment: `length` of them from `start` on, which these passes have in common. */
  pieces: { passes: readonly number[]; start: number; length: number }[];
}

/** Packs the passes of some sequences. */
export function packPasses(sequences: readonly (PlainSequence & Pick<PlainRun, 'passes'>)[]): PassPacking {
  const passes = sequences.flatMap(({ prompt, masked, passes: own }, i) =>
    // A masked-diffusion model sees another prompt in each pass.
    own.map(({ input }, k) => ({ input, prompt, group: masked ? `${i} ${k}` : prompt.join(' ') })),
  );
  const packing: PassPacking = { segments: [], pieces: [] };
  const add = (members: readonly number[], start: number, end: number, parent?: number) => {
    if (end === start) return;
    const ids = passes[members[0]!]!.input.slice(start, end);
    packing.segments.push(parent === undefined ? { ids } : { ids, parent });
    packing.pieces.push({ passes: members, start, length: end - start });
  };
  for (const group of new Set(passes.map((one) => one.group))) {
    const members = [...passes.keys()].filter((i) => passes[i]!.group === group);
    const { prompt, input } = passes[members[0]!]!;
    const isShared = members.length > 1;
    const parent = packing.segments.length;
    add(members, 0, isShared ? prompt.length : input.length);
    if (isShared) for (const i of members) add([i], prompt.length, passes[i]!.input.length, parent);
  }
  return packing;
}

/** `[L, D]` of each pass → `[N, D]`, packed; what passes share is that of the first. */
export const rowsOf = ({ pieces }: PassPacking, values: readonly Tensor[]): Tensor =>
  cat(pieces.map(({ passes, start, length }) => values[passes[0]!]!.narrow(0, start, length)));

/** The same, but what passes share is the sum of theirs. */
export const sumsOf = ({ pieces }: PassPacking, values: readonly Tensor[]): Tensor =>
  cat(
    pieces.map(({ passes, start, length }) =>
      passes.map((i) => values[i]!.narrow(0, start, length)).reduce((one, other) => one.add(other)),
    ),
  );

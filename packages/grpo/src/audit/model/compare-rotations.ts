import { noGrad, tensor, tidy } from '@grpo/torch';
import { largest } from '../../maths/moments.js';
import type { Decoder, PackedTokens } from '../../models/index.js';
import type { Comparison } from '../../trace/index.js';
import type { PlainRope } from '../plain/plain-rope.js';
import { plainShape } from '../plain/plain-shape.js';
import { type Pair, worstOf } from '../worst.js';
import type { PlainCompletion, PlainStep } from './plain-step.js';

/** Relative: frequency and angle are rounded in float32, and so is the cosine. */
const FLOAT32 = 2 ** -22;
/** The same of a number in half precision. */
const HALF = 2 ** -8;

/**
 * Config → rotations: by how much queries and keys are turned at each place of the completions, by every rope of the model.
 * One place that is taken for another hardly moves a log-prob, and is plain here.
 */
export function compareRotations(
  decoder: Pick<Decoder, 'rotationsAt' | 'config' | 'device' | 'dtype'>,
  {
    model,
    completions,
  }: Pick<PlainStep, 'model'> & { completions: readonly Pick<PlainCompletion, 'prompt' | 'completion'>[] },
): Comparison[] {
  const { attention } = decoder.config;
  const places = largest(completions.map(({ prompt, completion }) => prompt.length + completion.length));
  const { layers } = plainShape(model.config);
  const rounding = decoder.dtype === 'float32' ? FLOAT32 : HALF;
  const turned = noGrad(() =>
    tidy(() => {
      const positions = Array.from({ length: places }, (_, place) => place);
      const positions_N = tensor(positions, undefined, { dtype: 'int64', device: decoder.device });
      const rotations = decoder.rotationsAt({ positions_N } as PackedTokens);
      return rotations.map(({ cos, sin }) => ({ cos: cos.toNumbers(), sin: sin.toNumbers() }));
    }),
  );
  // One by one: of a long completion there are a million.
  function* pairs(): Generator<Pair> {
    for (const [rope, { cos, sin }] of turned.entries()) {
      const plain = layers[attention.findIndex((layer) => layer.rope === rope)]?.rope;
      if (!plain) continue;
      yield* pairsOf(plain, Math.cos, cos, rounding);
      yield* pairsOf(plain, Math.sin, sin, rounding);
    }
  }
  return worstOf('model', 'rotation of queries and keys at a place', pairs());
}

function* pairsOf(
  { frequencies, factor }: PlainRope,
  of: (angle: number) => number,
  found: ArrayLike<number>,
  rounding: number,
): Generator<Pair> {
  const dims = frequencies.length;
  for (let i = 0; i < found.length; i++) {
    const token = Math.floor(i / dims);
    const angle = token * frequencies[i % dims]!;
    const bound = factor * (FLOAT32 * angle + rounding);
    yield { found: found[i]!, plain: factor * of(angle), bound, token };
  }
}

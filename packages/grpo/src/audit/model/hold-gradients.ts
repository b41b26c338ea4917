import { noGrad, type Tensor, tidy } from '@grpo/torch';
import type { Slopes } from '../../doctor/recompute/policy-slopes.js';
import { median } from '../../maths/quantile.js';
import type { Comparison } from '../../trace/index.js';
import { eachGradient, type TakeParts } from '../plain/plain-gradient.js';
import type { PlainModel } from '../plain/plain-model.js';
import type { PlainSequence } from '../plain/plain-pass.js';
import { type Pair, worstByQuantity, worstOf } from '../worst.js';
import { holdHead } from './hold-head.js';
import { holdLayer, type LayerOptions } from './hold-layers.js';
import { packPasses } from './pass-packing.js';
import { type PlainRun, slopedPasses } from './plain-run.js';
import { gradientsMovedByRounding, widened } from './rounding.js';
import type { Tolerance } from './tolerance.js';

/** How gradients are compared. */
export interface HoldOptions {
  /** Divides the logits. */
  temperature: number;
  tolerance: Tolerance;
  /** Share of the largest tensor's norm by which the slopes themselves may move a tensor's gradient. */
  slack: number;
  /** The decoder that trains, whose parts are held one by one, too, and the hand-over that their outputs belong to. */
  trained: Pick<LayerOptions, 'decoder' | 'forward'>;
  /** To be called between the parts. */
  tell(): void;
}

/**
 * Holds the gradients of the trained tensors, by name, to those of the plain path: their norms, and how far they lie
 * apart. Where they lie too far in half precision, rounding the plain path tells how far this model's may.
 *
 * @param slopes - of the loss in what the passes of each sequence give
 */
export function holdGradients(
  model: PlainModel,
  sequences: readonly (PlainSequence & PlainRun)[],
  slopes: readonly Slopes[],
  gradients: ReadonlyMap<string, Tensor>,
  { temperature, tolerance, slack, trained, tell }: HoldOptions,
): Comparison[] {
  const { gradient, norm, floor, roundings } = tolerance;
  const measured = new Map<string, Norms>();
  const held: Comparison[] = [];
  const options = { ...trained, model, temperature, packing: packPasses(sequences), tolerance, tell };
  const parts: TakeParts = {
    head: (pass) => void held.push(...holdHead(pass, options)),
    layer: (pass) => void held.push(...holdLayer(pass, options)),
  };
  const take = (name: string, plain: Tensor, start: number) => {
    const norms = normsOf(rowsOf(gradients.get(name), plain, start), plain);
    measured.set(name, joined(measured.get(name), norms));
  };
  eachGradient(model, slopedPasses(sequences, slopes), temperature, take, tell, parts);
  for (const name of gradients.keys())
    if (!measured.has(name)) measured.set(name, { found: Number.NaN, plain: 0, distance: Number.NaN });
  const largest = Math.max(...[...measured.values()].map(({ plain }) => plain));
  let known: ReadonlyMap<string, number> | undefined;
  const moved = () => (known ??= gradientsMovedByRounding(model, sequences, slopes, { temperature, tell }));
  const whole = widened(roundings, (besides) => {
    const pairs = (
      relative: number,
      of: (norms: Norms, tensor: string) => Pick<Pair, 'found' | 'plain' | 'deviation'>,
    ) =>
      [...measured].map(
        ([tensor, norms]): Pair => ({
          ...of(norms, tensor),
          bound:
            relative * (norms.plain + floor * largest) +
            slack * largest +
            besides(() => moved().get(tensor) ?? 0),
          tensor,
        }),
      );
    const norms = pairs(norm, ({ found, plain }, tensor) =>
      gradients.has(tensor) ? { found, plain } : MISSING,
    );
    const distances = pairs(gradient, ({ distance }) => ({ found: distance, plain: 0 }));
    const held = [
      ...worstOf('gradient', 'norm of the gradient', norms),
      ...worstOf('gradient', 'distance to the plain gradient', distances),
    ];
    // A scale explains gradients that lie too far apart; rounding alone may have one.
    const isApart = held.some(({ deviation, bound }) => !(deviation <= bound));
    return [...(isApart ? scaleOf([...measured.values()], floor * largest) : []), ...held];
  });
  return [...whole, ...worstByQuantity(held)];
}

/** All gradients count as one times a factor where each is so, but for this share of it. */
const OF_SCALE = 0.02;

/** The factor that explains all gradients; nothing where none does, or it is 1. */
function scaleOf(norms: readonly Norms[], least: number): Comparison[] {
  const told = norms.filter(({ plain }) => plain > least);
  const factor = median(told.map(({ found, plain }) => found / plain));
  // Gradients that are missing have no scale.
  const isNone = Math.abs(factor - 1) <= OF_SCALE || Math.abs(factor) <= OF_SCALE;
  const isOfAll = told.every(
    ({ found, plain, distance }) =>
      Math.abs(found - factor * plain) <= OF_SCALE * found &&
      Math.abs(distance - Math.abs(factor - 1) * plain) <= OF_SCALE * found,
  );
  return told.length < 2 || isNone || !isOfAll
    ? []
    : worstOf('gradient', 'scale of all gradients', [{ found: factor, plain: 1, bound: OF_SCALE }]);
}

/** A gradient that only the plain path has: its deviation counts as further off than any number. */
const MISSING = { found: 'missing', plain: 'there', deviation: Number.NaN };

/** Norms of the two gradients of a tensor, and of their difference. */
interface Norms {
  found: number;
  plain: number;
  distance: number;
}

const joined = (one: Norms | undefined, other: Norms): Norms =>
  one
    ? {
        found: Math.hypot(one.found, other.found),
        plain: Math.hypot(one.plain, other.plain),
        distance: Math.hypot(one.distance, other.distance),
      }
    : other;

/** What the trainer has of a tensor whose plain gradient comes some rows at a time. */
const rowsOf = (found: Tensor | undefined, plain: Tensor, start: number): Tensor | undefined =>
  found && start + plain.size(0) <= found.size(0) ? found.narrow(0, start, plain.size(0)) : undefined;

/** Elements that are compared at once: no copy of a whole tensor is made. */
const PIECE = 2 ** 20;

/** NaN where the trainer has no gradient of this shape. */
function normsOf(found: Tensor | undefined, plain: Tensor): Norms {
  const isThere = `${found?.shape}` === `${plain.shape}`;
  const squares = { found: 0, plain: 0, distance: 0 };
  noGrad(() =>
    tidy(() => {
      const [own, other] = [plain, isThere ? found! : plain].map((x) => x.reshape([-1])) as [Tensor, Tensor];
      const square = (x: Tensor) => x.matmul(x).item();
      for (let start = 0; start < own.numel; start += PIECE)
        tidy(() => {
          const [p, f] = [own, other].map((x) => x.narrow(0, start, Math.min(PIECE, own.numel - start)));
          squares.plain += square(p!);
          squares.found += square(f!);
          squares.distance += square(f!.sub(p!));
        });
    }),
  );
  return isThere
    ? {
        found: Math.sqrt(squares.found),
        plain: Math.sqrt(squares.plain),
        distance: Math.sqrt(squares.distance),
      }
    : { found: Number.NaN, plain: Math.sqrt(squares.plain), distance: Number.NaN };
}

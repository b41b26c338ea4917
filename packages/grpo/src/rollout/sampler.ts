import { UserError } from '../errors/user-error.js';
import { rowsWithin } from '../memory/decoding.js';
import { sequencesWithin } from '../memory/denoising.js';
import type { Model } from '../models/index.js';
import { Watch } from '../progress/watch.js';
import { type Completion, requireOptions, type SamplingOptions } from './completion.js';
import { type CompletionRequest, type GroupRequest, splitRequests } from './completion-requests.js';
import { Decoding } from './decoding.js';
import { Denoising } from './denoising.js';
import { truncates } from './distribution.js';
import { hasPenalties } from './penalties.js';
import type { SamplingLot } from './sampling-lot.js';
import { withinMemory } from './within-memory.js';

/**
 * Samples completions, one group per request. A causal model computes a group's prompt once, and a finished completion
 * leaves the batch at once; a masked-diffusion model fills the places of all completions step by step. Each completion
 * draws from a stream of its own, a function of seed, keys and its index in the group: given equal logits it does not
 * depend on the other completions.
 *
 * @throws UserError for an empty prompt, one that leaves no room in the model's context, logits that are not finite, and
 * options that the model cannot follow; Abandoned
 */
export async function sample(
  model: Model,
  requests: readonly GroupRequest[],
  options: SamplingOptions,
  seed: number,
  watch = new Watch(),
): Promise<Completion[][]> {
  requireOptions(options);
  refuseImpossible(model, options);
  const { decoder } = model;
  const { config, engine } = decoder;
  const groups: Completion[][] = requests.map(() => []);
  const rowRequests = splitRequests(requests, options, seed, config.maxPositions);
  const bound = { unit: 'completions', setting: 'memory', configured: rowRequests.length, model: decoder };
  const { lotBytes } = options;
  const adjusted = rowRequests.some((row) => isAdjusted(row.options));
  const take = (from: number, most: number) => {
    const rest = rowRequests.slice(from);
    const count = config.diffusion
      ? sequencesWithin(config, engine, rest, { lotBytes, most })
      : rowsWithin(config, engine, rest, { lotBytes, adjusted, most });
    return { rows: rest.slice(0, count), count, size: count };
  };
  let done = 0;
  let tokens = 0;
  const total = rowRequests.length;
  await withinMemory(bound, total, take, async ({ rows }) => {
    const lot: SamplingLot = config.diffusion
      ? new Denoising(model, rows, lotBytes)
      : decodingOf(model, rows, lotBytes);
    const report = () =>
      watch.report({
        stage: 'rollout',
        done: done + lot.finished.length,
        total,
        unit: 'completions',
        tokens: tokens + lot.tokens,
        share: (done + lot.share) / total,
      });
    try {
      for (let yielded = Date.now(); lot.active > 0; ) {
        lot.advance(watch, report);
        report();
        // About ten times per second.
        if (Date.now() - yielded > 100) {
          await watch.breathe();
          yielded = Date.now();
        }
      }
    } finally {
      lot.dispose();
    }
    done += rows.length;
    tokens += lot.tokens;
    for (const { row, completion } of lot.finished) groups[row.group]![row.index] = completion;
  });
  return groups;
}

/** Whether other tokens are drawn than the model's own distribution gives. */
export const isAdjusted = (options: SamplingOptions): boolean => hasPenalties(options) || truncates(options);

function decodingOf(model: Model, rows: readonly CompletionRequest[], lotBytes: number): Decoding {
  const decoding = new Decoding(model, lotBytes);
  decoding.join(rows);
  return decoding;
}

/** @throws UserError: options that the model cannot follow */
export function refuseImpossible({ decoder }: Model, options: SamplingOptions): void {
  const { fuses, dtype, device, config } = decoder;
  if (config.diffusion && hasPenalties(options)) {
    throw new UserError(
      'a masked-diffusion model cannot be sampled with penalties: it fills places in any order, and no token comes before another',
      {
        hint: 'set rollout.repetitionPenalty=1, rollout.presencePenalty=0 and rollout.frequencyPenalty=0',
      },
    );
  }
  if (config.diffusion && options.invariant) {
    throw new UserError('rollout.invariant is for causal models; this is a masked-diffusion model', {
      hint: 'set rollout.invariant=false',
    });
  }
  if (options.invariant && !fuses) {
    throw new UserError(
      `rollout.invariant needs float32 or bfloat16 on the CPU; the model is ${dtype} on ${device}`,
      { hint: 'set rollout.invariant=false, or device=cpu with one of these dtypes' },
    );
  }
}

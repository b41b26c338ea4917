/** Masked-diffusion GRPO in nano_gpt: lines of micro-steps, and one an iteration. */

import { median } from '../../../maths/quantile.js';
import type { Declared } from '../../declared.js';
import type { Line } from '../lines.js';
import type { Producer } from '../producers/index.js';
import { unknown } from '../producers/others.js';
import { Collector } from '../rows/collector.js';
import type { CollectedLog } from '../rows/run-collector.js';
import type { LogFormat } from './log-format.js';

const ITERATION =
  /\biter (\d+): loss ([-+\w.]+)(?: \(main ([-+\w.]+), critic ([-+\w.]+)\))?(?:, time ([\d.]+)\s*ms)?/;
const MICRO = /\[Micro (\d+)\]/;
/** A setting, as it stands before the first iteration. */
const SETTING = /^\s*(group_size|kl_beta|gradient_accumulation_steps|learning_rate):\s*([-+\w.]+)\s*$/;
const REWARDS = /rewards=([-+\w.]+)±([-+\w.]+)/;
const MASKS = /masks_in_X=(\d+)/;
/** Masked positions as a warning has them: of its micro-step alone. */
const MASKED = /\bnum_masked=([\d.]+)/;
const SPENT = /\btime=([\d.]+)\s*s/;
const MEMORY = /\bmem=([\d.]+)\s*MB/;

/** Words of a line that ends a stage of a micro-step. */
const STAGES: readonly (readonly [string, string])[] = [
  ['Samples generated', 'sample'],
  ['Forward and sample', 'sample'],
  ['Samples scored', 'score'],
  ['Loss computed', 'loss'],
];

/** Names that the lines use for numbers of a micro-step, in ours. */
const NAMED: readonly (readonly [RegExp, string])[] = [
  [/\bpg_loss=([-+\w.]+)/, 'policy_loss'],
  // Of whole sequences, so not the KL a token that others log.
  [/\bavg_kl=([-+\w.]+)/, 'sequence_kl'],
  // Already times β.
  [/\bkl=([-+\w.]+)/, 'kl_penalty'],
  [/\bkl_penalty=([-+\w.]+)/, 'kl_penalty'],
  [/\btotal=([-+\w.]+)/, 'total'],
  [/\bavg_seq_log_prob=([-+\w.]+)/, 'sequence_logprob'],
];

/** Warnings that say that a micro-step taught nothing. */
const EVENTS: readonly (readonly [string, string])[] = [
  ['No masks in batch', 'skipped/no_masks'],
  ['completions are identical', 'skipped/identical'],
  ['All advantages are near zero', 'warnings/zero_advantages'],
  ['sequence_log_probs', 'warnings/zero_logprobs'],
  ['No masked positions', 'warnings/no_masked_positions'],
];

/** A part of the loss in a micro-step's line: its sum with the other, over the total, is what the loss was divided by. */
const PARTS = /pg_loss=([-+\w.]+), (?:kl|kl_penalty)=([-+\w.]+), total=([-+\w.]+)/;

const producer: Producer = {
  ...unknown,
  name: 'nano_gpt',
};

export class NanoGpt implements LogFormat {
  readonly #collector = new Collector();
  #sums = new Map<string, { sum: number; count: number }>();
  #counts: Record<string, number> = {};
  /** Micro-steps that were begun, and those of them that came to a loss. */
  #begun = new Set<string>();
  #executed = new Set<string>();
  #divisors: number[] = [];
  /** Warnings that no position was masked. */
  #unmasked = 0;
  /** Times of each stage, as the lines have them, micro-step by micro-step. */
  #times: { stage: string; micro: string; time: number }[] = [];
  #memory = 0;
  readonly #settings: Record<string, number> = {};
  #isGrpo = false;

  /** Pre-training logs iterations too, but has neither micro-steps nor a critic. */
  get hints() {
    const { group_size, kl_beta, learning_rate } = this.#settings;
    const declared: Declared = {
      kl: { estimator: 'k1', ...(kl_beta !== undefined && { beta: kl_beta }) },
      objective: { policy: 'reinforce', ratio: 'none' },
      ...(group_size !== undefined && { rollout: { group: group_size } }),
      ...(learning_rate !== undefined && { optimizer: { learningRate: learning_rate } }),
    };
    return { producer, declared, ...(this.#isGrpo && { isGrpo: true }) };
  }

  kind(): string {
    return 'nano_gpt log of micro-steps and iterations';
  }

  take({ line, text }: Line): void {
    const iteration = text.includes('iter ') ? ITERATION.exec(text) : null;
    if (iteration) this.#end(iteration, line);
    else if (/=|WARNING/.test(text)) this.#detail(text);
    else this.#setting(text);
  }

  finish(): CollectedLog[] {
    return this.#collector.finish();
  }

  #detail(text: string): void {
    for (const [words, name] of EVENTS)
      if (text.includes(words) && /WARNING/i.test(text)) this.#counts[name] = (this.#counts[name] ?? 0) + 1;
    if (/WARNING/i.test(text) && Number(MASKED.exec(text)?.[1]) === 0) this.#unmasked++;
    this.#memory = Math.max(this.#memory, Number(MEMORY.exec(text)?.[1] ?? 0) * 2 ** 20);
    const micro = MICRO.exec(text);
    const time = SPENT.exec(text);
    const stage = STAGES.find(([words]) => text.includes(words))?.[1];
    if (micro && time && stage) this.#times.push({ stage, micro: micro[1]!, time: Number(time[1]) });
    if (micro) {
      this.#isGrpo = true;
      this.#begun.add(micro[1]!);
      if (text.includes('Loss computed')) this.#executed.add(micro[1]!);
    }
    // The details of the loss stand on lines of their own, indented.
    if (!micro && !/^\s+\w+=/.test(text)) return;
    const rewards = REWARDS.exec(text);
    if (rewards) {
      this.#sum('reward', rewards[1]!);
      this.#sum('reward_std', rewards[2]!);
      if (Number(rewards[2]) === 0) this.#counts.flat = (this.#counts.flat ?? 0) + 1;
    }
    const masks = MASKS.exec(text);
    if (masks) this.#sum('masked_positions', masks[1]!);
    else if (text.includes('No masks in batch')) this.#sum('masked_positions', '0');
    for (const [pattern, name] of NAMED) {
      const found = pattern.exec(text);
      if (found) this.#sum(name, found[1]!);
    }
    const [policy, kl, total] = PARTS.exec(text)?.slice(1).map(Number) ?? [];
    // Of a small total its rounding is too large a part.
    if (Math.abs(total!) >= 0.01) this.#divisors.push((policy! + kl!) / total!);
  }

  #setting(text: string): void {
    const found = text.includes(':') ? SETTING.exec(text) : null;
    if (found) this.#settings[found[1]!] = Number(found[2]);
  }

  #sum(name: string, text: string): void {
    const value = Number(text.replace(/^([+-]?)inf$/, '$1Infinity'));
    const known = this.#sums.get(name);
    this.#sums.set(name, { sum: (known?.sum ?? 0) + value, count: (known?.count ?? 0) + 1 });
  }

  #end([, step, loss, , critic, time]: RegExpExecArray, line: number): void {
    if (critic !== undefined) this.#isGrpo = true;
    const values: Record<string, number> = {};
    for (const [name, { sum, count }] of this.#sums) values[name] = sum / count;
    const scored = this.#sums.get('reward')?.count;
    const { flat = 0, ...counts } = this.#counts;
    Object.assign(values, counts);
    if (scored !== undefined) values.frac_reward_zero_std = flat / scored;
    if (this.#begun.size > 0) {
      values.micro_steps = this.#settings.gradient_accumulation_steps ?? this.#begun.size;
      values['micro_steps/executed'] = this.#executed.size;
    }
    if (this.#divisors.length > 0) values.loss_divisor = median(this.#divisors);
    // Where no line counts the masks, the warnings tell only if every micro-step has one.
    if (values.masked_positions === undefined && this.#unmasked >= Math.max(1, this.#begun.size))
      values.masked_positions = 0;
    values.loss = Number(loss);
    if (time !== undefined) {
      values.step_time = Number(time) / 1000;
      Object.assign(values, stageSeconds(this.#times, values.step_time));
    }
    if (this.#memory > 0) values.memory_bytes = this.#memory;
    this.#sums = new Map();
    this.#counts = {};
    this.#begun = new Set();
    this.#executed = new Set();
    this.#divisors = [];
    this.#unmasked = 0;
    this.#times = [];
    this.#memory = 0;
    this.#collector.add({ values, step: Number(step), names: Object.keys(values) }, line);
  }
}

/**
 * Seconds of each stage of an iteration. Some versions print the time of the stage, others that since the micro-step began:
 * the reading counts whose sum is nearer to the time of the iteration.
 */
function stageSeconds(
  times: readonly { stage: string; micro: string; time: number }[],
  seconds: number,
): Record<string, number> {
  const last = new Map<string, number>();
  const since = times.map((own) => {
    const before = last.get(own.micro) ?? 0;
    last.set(own.micro, own.time);
    return { ...own, time: own.time - before };
  });
  const total = (all: typeof since) => all.reduce((sum, { time }) => sum + time, 0);
  const isSince =
    since.every(({ time }) => time >= 0) &&
    Math.abs(seconds - total(since)) < Math.abs(seconds - total([...times]));
  const sums: Record<string, number> = {};
  for (const { stage, time } of isSince ? since : times)
    sums[`seconds/${stage}`] = (sums[`seconds/${stage}`] ?? 0) + time;
  return sums;
}

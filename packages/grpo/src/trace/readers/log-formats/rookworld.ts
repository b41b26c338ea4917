/** Phase logs of rookworld's manual GRPO, and the table of steps in their end. */

import { mean, moments } from '../../../maths/moments.js';
import { type Declared, declaredByBoth } from '../../declared.js';
import type { Line } from '../lines.js';
import { unknown } from '../producers/others.js';
import { Collector } from '../rows/collector.js';
import { numberOf } from '../rows/metric-row.js';
import type { CollectedLog } from '../rows/run-collector.js';
import type { LogFormat } from './log-format.js';

const PHASE = /={10,} PHASE (\d+):.*?(?:\(step (\d+)\).*)?={10,}/;
const NEXT = /SEQUENTIAL STEP (\d+)/;
const LOGPROBS = /\bGen \d+: Train_LP=\s*([-\w.]+), Ref_LP=\s*([-\w.]+)/;
/** Of two lines, the first is the completion itself. */
const TEXT = /^\s+Text:\s*(.*)$/;
const REWARD = /\bGen \d+: Reward=\s*([-\w.]+)/;
const TERMS = /\bGen \d+: A=([-+\w.]+), logp\/len=\s*([-\w.]+), kl=\s*([-\w.]+)(?:, H=\s*([-\w.]+))?/;
const TABLE = /^\s*\d+(\s*\|\s*[-+\w.]+){5,}\s*$/;
const HEADER = /^\s*Step\s*\|/;

/** Lines with one number, by the words before it, and its name in ours. */
const SINGLE: readonly (readonly [RegExp, string])[] = [
  [/Policy Gradient Loss:\s*([-\w.]+)/, 'policy_loss'],
  [/KL Loss[^:]*:\s*([-\w.]+)/, 'kl_loss'],
  [/Total Loss:\s*=?\s*([-\w.]+)/, 'loss'],
  [/KL penalty ratio:\s*([-\w.]+)%/, 'kl_share_percent'],
  [/grad_norm=\s*([-\w.]+)/, 'grad_norm'],
  [/[Gg]radient norm[^:]*:\s*([-\w.]+)/, 'grad_norm'],
  [/^\s*Average reward:\s*([-\w.]+)\s*$/, 'eval_reward'],
  [/^\s*Positive ratio:\s*([-\w.]+)%/, 'eval_positive_percent'],
  [/beta=\s*([-\w.]+)/, 'beta'],
];

/** Settings of the run, as phase 0 lists them. */
const SETTINGS: readonly (readonly [RegExp, (value: number) => Declared])[] = [
  [/^\s+Generations per prompt:\s*(\d+)/, (group) => ({ rollout: { group } })],
  [/^\s+Max new tokens:\s*(\d+)/, (maxNewTokens) => ({ rollout: { maxNewTokens } })],
  [/^\s+Beta \(KL penalty\):\s*([\d.e-]+)/, (beta) => ({ kl: { beta } })],
  [/^\s+Learning rate:\s*([\d.e-]+)/, (learningRate) => ({ optimizer: { learningRate } })],
];

/** Columns of the table of steps, in ours. */
const COLUMNS: Readonly<Record<string, string>> = {
  Pre: 'eval_reward_before',
  Post: 'eval_reward',
  PG: 'policy_loss',
  KL: 'kl_loss',
  'KL%': 'kl_share_percent',
  Adv: 'advantage_range',
  GradN: 'grad_norm',
  β: 'beta',
  Sec: 'step_time',
};

/** What the lines of one step gave. */
class Step {
  readonly values: Record<string, number> = {};
  /** Rewards by prompt. */
  readonly groups: number[][] = [];
  readonly sums = new Map<string, { sum: number; count: number }>();
  /** Prompt by prompt, the reference's total log-prob of each distinct text. */
  readonly totals: Map<string, number>[] = [];
  line: number | undefined;
}

export class Rookworld implements LogFormat {
  readonly #declared: Declared = {};
  readonly hints = {
    isGrpo: true,
    producer: {
      ...unknown,
      name: 'rookworld',
      meaning: () => ({ rewardDeviation: 'groups' as const }),
    },
    declared: this.#declared,
  };
  /** The table comes last and adds to steps long past, so all are kept; each took thousands of lines. */
  readonly #steps = new Map<number, Step>();
  #phase = 0;
  #step = 1;
  #columns: string[] = [];
  /** The reference's total of the completion whose text comes next. */
  #total: number | undefined;

  kind(): string {
    return 'rookworld phase log';
  }

  take({ line, text: raw }: Line): void {
    const text = raw.replace(/^\d\d:\d\d:\d\d \| ?/, '');
    const phase = text.includes('PHASE') ? PHASE.exec(text) : null;
    if (phase) {
      this.#phase = Number(phase[1]);
      if (phase[2] !== undefined) this.#step = Number(phase[2]);
      return;
    }
    const next = text.includes('SEQUENTIAL') ? NEXT.exec(text) : null;
    if (next) {
      this.#step = Number(next[1]);
      this.#phase = 3;
      return;
    }
    if (HEADER.test(text)) this.#columns = text.split('|').map((name) => name.trim());
    else if (this.#columns.length > 0 && TABLE.test(text)) this.#row(text, line);
    else if (this.#phase > 2) this.#line(text, line);
    else if (this.#phase === 2) this.#single(text, line, 0);
    else this.#setting(text);
  }

  #setting(text: string): void {
    for (const [pattern, declares] of SETTINGS) {
      const value = numberOf(pattern.exec(text)?.[1]);
      if (value !== undefined) this.#declare(declares(value));
    }
    // One formula of the KL came after the other.
    if (/KL: token-level KL/.test(text)) this.#declare({ kl: { estimator: 'full' } });
  }

  #declare(more: Declared): void {
    Object.assign(this.#declared, declaredByBoth(this.#declared, more));
  }

  finish(): CollectedLog[] {
    const collector = new Collector();
    for (const step of [...this.#steps.keys()].sort((a, b) => a - b)) {
      const { values, groups, sums, totals, line } = this.#steps.get(step)!;
      const all = { ...values };
      for (const [name, { sum, count }] of sums) all[name] = sum / count;
      Object.assign(all, ofGroups(groups), ofTotals(totals));
      collector.add({ values: all, step, names: Object.keys(all) }, line);
    }
    return collector.finish();
  }

  #of(step: number, line: number): Step {
    const found = this.#steps.get(step) ?? new Step();
    this.#steps.set(step, found);
    found.line ??= line;
    return found;
  }

  #line(text: string, line: number): void {
    if (!/[=:❌]/u.test(text)) return;
    if (/Prompt \d+: /.test(text)) this.#of(this.#step, line).totals.push(new Map());
    const reward = REWARD.exec(text);
    const logprobs = LOGPROBS.exec(text);
    const terms = TERMS.exec(text);
    if (/Scoring Prompt \d+/.test(text)) this.#of(this.#step, line).groups.push([]);
    else if (reward) this.#reward(line, numberOf(reward[1]) ?? Number.NaN);
    else if (logprobs) {
      this.#sum(line, 'sequence_logprob', logprobs[1]);
      this.#sum(line, 'sequence_logprob_reference', logprobs[2]);
      this.#total = numberOf(logprobs[2]);
    } else if (this.#total !== undefined && TEXT.test(text)) {
      this.#of(this.#step, line).totals.at(-1)?.set(TEXT.exec(text)![1]!, this.#total);
      this.#total = undefined;
    } else if (terms) {
      this.#sum(line, 'logprobs/mean', terms[2]);
      this.#sum(line, 'kl', terms[3]);
      this.#sum(line, 'entropy', terms[4]);
    } else {
      if (text.includes('Error scoring')) this.#count(line, 'reward_failures');
      if (text.includes('IDENTICAL')) this.#count(line, 'identical_groups');
      this.#single(text, line, this.#step);
    }
  }

  #reward(line: number, value: number): void {
    const { groups } = this.#of(this.#step, line);
    if (groups.length === 0) groups.push([]);
    groups.at(-1)!.push(value);
  }

  /** A line with one number. */
  #single(text: string, line: number, step: number): void {
    for (const [pattern, name] of SINGLE) {
      const value = numberOf(pattern.exec(text)?.[1]);
      if (value !== undefined) this.#of(step, line).values[name] = value;
    }
  }

  #row(text: string, line: number): void {
    const cells = text.split('|').map((cell) => numberOf(cell));
    const step = cells[0];
    if (step === undefined || !Number.isInteger(step)) return;
    const { values } = this.#of(step, line);
    for (const [i, column] of this.#columns.entries()) {
      const name = COLUMNS[column];
      if (name !== undefined && cells[i] !== undefined) values[name] ??= cells[i];
    }
  }

  #sum(line: number, name: string, text: string | undefined): void {
    const value = numberOf(text);
    if (value === undefined) return;
    const { sums } = this.#of(this.#step, line);
    const known = sums.get(name);
    sums.set(name, { sum: (known?.sum ?? 0) + value, count: (known?.count ?? 0) + 1 });
  }

  #count(line: number, name: string): void {
    const { values } = this.#of(this.#step, line);
    values[name] = (values[name] ?? 0) + 1;
  }
}

/** How the reference's totals of different texts lie: the most of one prompt that are equal, and the relative spread. */
function ofTotals(totals: readonly ReadonlyMap<string, number>[]): Record<string, number> {
  const all = totals.flatMap((one) => [...one.values()]);
  if (all.length < 4) return {};
  const alike = totals.flatMap((one) => {
    const values = [...one.values()];
    return values.map((value) => values.filter((other) => other === value).length);
  });
  const { mean: centre, deviation } = moments(all, 1);
  return {
    'sequence_logprob_reference/equal': Math.max(...alike),
    'sequence_logprob_reference/texts': all.length,
    'sequence_logprob_reference/spread': deviation / Math.abs(centre),
  };
}

/** Mean and deviation of the rewards, and the share of groups without any. */
function ofGroups(groups: readonly (readonly number[])[]): Record<string, number> {
  const scored = groups.filter((group) => group.length > 0);
  if (scored.length === 0) return {};
  // A single reward has a deviation of 0.
  const deviation = (values: readonly number[]) => moments(values, values.length > 1 ? 1 : 0).deviation;
  return {
    reward: mean(scored.flat()),
    reward_std: mean(scored.map(deviation)),
    frac_reward_zero_std: scored.filter((group) => new Set(group).size === 1).length / scored.length,
  };
}

/** Diagnostics that grpo-dual prints; its texts are Chinese, the numbers stand between signs of their own. */
import { mean } from '../../../maths/moments.js';
import type { Line } from '../lines.js';
import { literal } from '../literal.js';
import { grpoDual } from '../producers/others.js';
import { Collector } from '../rows/collector.js';
import type { CollectedLog } from '../rows/run-collector.js';
import type { LogFormat } from './log-format.js';

const AT_STEP = /@step\s?(\d+)\]|\[Step (\d+)\]|\[步骤\s?(\d+)\]/;
const NUMBER = '([-+]?(?:[\\d.]+(?:e[-+]?\\d+)?|nan|inf))';

/** What a line with a step tells, and its name in ours. */
const NUMBERS: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`Fairness[^\\]]*\\] Entropy: mean=${NUMBER}`), 'entropy'],
  [new RegExp(`Fairness[^\\]]*\\] Entropy: .*min=${NUMBER}`), 'entropy_min'],
  [new RegExp(`Fairness[^\\]]*\\] Entropy: .*max=${NUMBER}`), 'entropy_max'],
  [new RegExp(`Reward Scale[^\\]]*\\] F: std=${NUMBER}`), 'rewards/fairness/std'],
  [new RegExp(`Reward Scale[^\\]]*\\] .*\\bH: std=${NUMBER}`), 'rewards/hallucination/std'],
  [new RegExp(`Judge[^\\]]*\\] time=${NUMBER}s`), 'judge_time'],
  [new RegExp(`\\(F:${NUMBER}%`), 'trunc_percent_f'],
  [new RegExp(`\\bH:${NUMBER}%\\)`), 'trunc_percent_h'],
];
const FLAT_GROUPS = /(\d+)\/(\d+)\s*组/;
const PROVIDERS = /providers=(\{[^}]*\})/;
/** `Fairness样本 0: entropy=0.032`, of whatever step is being printed. */
const SAMPLE = new RegExp(`样本 \\d+: entropy=${NUMBER}`);
/** The parts of the loss stand below a title with the step, once a task: `KL项(β=0.05): +0.05  (raw_kl=1.0)`. */
const KL_PART = new RegExp(`KL项\\(β=${NUMBER}\\):.*raw_kl=${NUMBER}`);
const ENTROPY_PART = new RegExp(`Entropy项\\(coef=${NUMBER}\\):.*raw_entropy=${NUMBER}`);
const LOSS = new RegExp(`Overall Loss:\\s*${NUMBER}`);
/** A second count of the flat groups, once a task, below a title with the number of the step before. */
const COUNTED = /实际:\s*(\d+)\/(\d+)/;

export class DualConsole implements LogFormat {
  readonly hints = { isGrpo: true, producer: grpoDual };
  readonly #collector = new Collector();
  #step: number | undefined;
  #values: Record<string, number> = {};
  #entropies: number[] = [];
  /** Of each task. */
  #parts: Record<'kl' | 'beta' | 'entropy' | 'entropy_coef', number[]> = noParts();
  #counted = { flat: 0, groups: 0 };
  #line = 0;

  kind(): string {
    return 'grpo-dual console log';
  }

  take({ line, text }: Line): void {
    const at = text.includes('[') ? AT_STEP.exec(text) : null;
    const step = Number(at?.[1] ?? at?.[2] ?? at?.[3] ?? Number.NaN);
    if (at && step !== this.#step) this.#close(step, line);
    const sample = text.includes('entropy=') ? SAMPLE.exec(text) : null;
    if (sample) this.#entropies.push(Number(sample[1]));
    if (!at) {
      this.#part(text);
      return;
    }
    for (const [pattern, name] of NUMBERS) {
      const found = pattern.exec(text);
      if (found) this.#values[name] = Number(found[1]);
    }
    const flat = FLAT_GROUPS.exec(text);
    if (flat && text.includes('std')) this.#values.frac_reward_zero_std = Number(flat[1]) / Number(flat[2]);
    const providers = literal(PROVIDERS.exec(text)?.[1] ?? '');
    for (const [name, count] of Object.entries(providers ?? {}))
      if (typeof count === 'number') this.#values[`provider_${name}`] = count;
  }

  /** A line of what belongs to the step named last. */
  #part(text: string): void {
    const kl = text.includes('raw_kl') ? KL_PART.exec(text) : null;
    if (kl) {
      this.#parts.beta.push(Number(kl[1]));
      this.#parts.kl.push(Number(kl[2]));
    }
    const entropy = text.includes('raw_entropy') ? ENTROPY_PART.exec(text) : null;
    if (entropy) {
      this.#parts.entropy_coef.push(Number(entropy[1]));
      this.#parts.entropy.push(Number(entropy[2]));
    }
    const loss = text.includes('Overall Loss') ? LOSS.exec(text) : null;
    if (loss) this.#values.loss = Number(loss[1]);
    const counted = text.includes('实际') ? COUNTED.exec(text) : null;
    if (!counted) return;
    this.#counted.flat += Number(counted[1]);
    this.#counted.groups += Number(counted[2]);
  }

  finish(): CollectedLog[] {
    this.#close(undefined, this.#line);
    return this.#collector.finish();
  }

  #close(next: number | undefined, line: number): void {
    const values = this.#values;
    if (this.#entropies.length > 0) values.entropy ??= mean(this.#entropies);
    for (const [name, list] of Object.entries(this.#parts)) if (list.length > 0) values[name] = mean(list);
    const { flat, groups } = this.#counted;
    if (groups > 0) values['frac_reward_zero_std/counted_again'] = flat / groups;
    const [f, h] = [values.trunc_percent_f, values.trunc_percent_h];
    if (f !== undefined && h !== undefined) values['completions/clipped_ratio'] = (f + h) / 200;
    if (Object.keys(values).length > 0) {
      const names = Object.keys(values);
      const step = this.#step === undefined ? {} : { step: this.#step };
      this.#collector.add({ values, names, ...step }, this.#line);
    }
    this.#step = next;
    this.#line = line;
    this.#values = {};
    this.#entropies = [];
    this.#parts = noParts();
    this.#counted = { flat: 0, groups: 0 };
  }
}

const noParts = () => ({ kl: [], beta: [], entropy: [], entropy_coef: [] });

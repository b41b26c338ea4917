/** Consoles that print a step as names and values: verl (`step:3 - actor/entropy:0.4`), prime-rl (`Step 3 | Loss 0.1`). */
import { type CollectedLog, Collector } from '../collector.js';
import type { Line } from '../lines.js';
import { metricRow } from '../metric-row.js';
import { producerOf } from '../producers/index.js';
import type { LogFormat } from './log-format.js';

const VERL = /\bstep:(\d+) - (.*:.*)$/;
const PRIME = /\bStep (\d+) \| (.*\|.*)$/;

/** Names of prime-rl's console in those of its metrics. */
const PRIME_NAMES: Readonly<Record<string, string>> = {
  Loss: 'loss/mean',
  Entropy: 'entropy/mean',
  'Mismatch KL': 'mismatch_kl/mean',
  'Grad. Norm': 'optim/grad_norm',
  LR: 'optim/lr',
  Reward: 'reward/mean',
  Time: 'time/step',
};

export class KeyValues implements LogFormat {
  readonly #collector = new Collector();

  get rows(): number {
    return this.#collector.rows;
  }

  kind({ names }: CollectedLog): string {
    return `${producerOf(names).name} console log`;
  }

  take({ line, text }: Line): void {
    const verl = text.includes('step:') ? VERL.exec(text) : null;
    const prime = verl || !text.includes('Step ') ? null : PRIME.exec(text);
    const found = verl ?? prime;
    if (!found) return;
    const pairs = verl ? verlPairs(verl[2]!) : primePairs(prime![2]!);
    const row = metricRow({ step: found[1]!, ...Object.fromEntries(pairs) });
    if (row) this.#collector.add(row, line);
  }

  finish(): CollectedLog {
    return this.#collector.finish();
  }
}

function verlPairs(text: string): [string, string][] {
  return text.split(' - ').map((pair) => {
    const colon = pair.lastIndexOf(':');
    const value = /^(?:np\.\w+\()?([^()]*)\)?$/.exec(pair.slice(colon + 1).trim())?.[1] ?? '';
    return [pair.slice(0, colon).trim(), value];
  });
}

function primePairs(text: string): [string, string][] {
  return text.split('|').flatMap((part) => {
    const found = /^\s*([A-Z][A-Za-z. ]*?):?\s+([-+\d.e]+|nan|inf)\s?s?\b/.exec(part);
    const name = found && PRIME_NAMES[found[1]!];
    return name ? [[name, found[2]!] as [string, string]] : [];
  });
}

import { existsSync } from 'node:fs';
import { type LossParts, namedLosses } from './loss-names.js';
import type { Config, ParsedConfig } from './schema.js';

/**
 * Fills in the values that follow from others; `from` names the key that each follows from.
 *
 * @param fallback - names the run folder where the configuration names no task
 */
export function derive(
  parsed: ParsedConfig,
  fallback: string,
  now: Date,
): { config: Config; from: Map<string, string> } {
  const from = new Map<string, string>();
  const fill = <T>(path: string, given: T | undefined, value: T, why: string): T => {
    if (given !== undefined) return given;
    from.set(path, `default (${why})`);
    return value;
  };
  const { task, objective, advantage, rollout } = parsed;
  const [given, of] = task.mix ? (['mix', 'task.mix'] as const) : (['jsonl', 'task.data'] as const);
  const isFound = task.mix !== undefined || task.data !== undefined;
  const name = isFound ? fill('task.name', task.name, given, of) : task.name;
  const folder = unused(`runs/${name ?? fallback}-${timestamp(now)}`);
  const parts: LossParts = namedLosses[objective.loss];
  const byLoss = <T>(path: string, given: T | undefined, value: T) =>
    fill(path, given, value, `objective.loss=${objective.loss}`);
  const policy = byLoss('objective.policy', objective.policy, parts.policy);
  const byPolicy = (path: string, given: number | undefined, value: number) =>
    fill(path, given, value, `objective.policy=${policy}`);
  const divergenceLow = byPolicy(
    'objective.divergenceLow',
    objective.divergenceLow,
    policy === 'dppo_kl' ? 0.05 : 0.2,
  );
  const config: Config = {
    ...parsed,
    output: fill('output', parsed.output, folder, 'task and time'),
    task: { ...task, name },
    kl:
      name === 'mix'
        ? { ...parsed.kl, kindKey: fill('kl.kindKey', parsed.kl.kindKey, 'task', 'task.name=mix') }
        : parsed.kl,
    objective: {
      ...objective,
      policy,
      ratio: byLoss('objective.ratio', objective.ratio, parts.ratio),
      aggregation: byLoss('objective.aggregation', objective.aggregation, parts.aggregation),
      normalizer: fill(
        'objective.normalizer',
        objective.normalizer,
        rollout.maxNewTokens,
        'rollout.maxNewTokens',
      ),
      clipHigh: fill('objective.clipHigh', objective.clipHigh, objective.clipLow, 'objective.clipLow'),
      cap: byPolicy('objective.cap', objective.cap, policy.startsWith('dppo') ? 20 : 5),
      divergenceLow,
      divergenceHigh: fill(
        'objective.divergenceHigh',
        objective.divergenceHigh,
        divergenceLow,
        'objective.divergenceLow',
      ),
    },
    lora:
      parsed.lora.rank > 0
        ? { ...parsed.lora, alpha: fill('lora.alpha', parsed.lora.alpha, 2 * parsed.lora.rank, 'lora.rank') }
        : parsed.lora,
    advantage: {
      ...advantage,
      baseline: byLoss('advantage.baseline', advantage.baseline, parts.baseline ?? 'group'),
      scale: byLoss('advantage.scale', advantage.scale, parts.scale ?? 'group'),
    },
  };
  return { config, from };
}

/** The path, or with `-2`, `-3`, … behind it where something is there: a program may begin two runs in a second. */
function unused(path: string): string {
  let free = path;
  for (let n = 2; existsSync(free); n++) free = `${path}-${n}`;
  return free;
}

/** Local time as `20260131-235959`: sorts by time and is a valid folder name everywhere. */
function timestamp(time: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${time.getFullYear()}${two(time.getMonth() + 1)}${two(time.getDate())}`;
  return `${day}-${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`;
}

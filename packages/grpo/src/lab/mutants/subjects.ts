/** The compiled files that are mutated, and the stage of a step that each belongs to. */
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Stage } from '../../doctor/check.js';

/** A compiled file. */
export interface Subject {
  /** Its source, from the workspace: `packages/grpo/src/step/grpo-step.ts`. */
  path: string;
  url: string;
  /** What a finding about it may be filed under. The first one is the stage that draws are even over. */
  stages: readonly Stage[];
  text: string;
}

/**
 * Files by the beginning of their path, the first match counts; null is not mutated. What remains computes a step or
 * carries it to the next: not what watches it, judges it, reads a user's files, or speaks to people.
 */
const GRPO: readonly (readonly [path: string, stages: readonly Stage[] | null])[] = [
  ['text/render', ['template', 'tokens']],
  ['text/chat-template', ['template', 'tokens']],
  ['text/spans', ['template', 'tokens']],
  ['text/tokenizer-', null],
  ['text/tokenizer', ['tokens', 'template']],
  ['tasks/order/', ['data']],
  ['tasks/prompt', ['template', 'tokens']],
  ['rollout/', ['generation']],
  ['models/decode-step', ['generation']],
  ['models/decoding-decoder', ['generation', 'weight sync']],
  ['models/lora/lora', ['logprob', 'generation', 'optimizer']],
  ['models/lora/', null],
  ['models/folder/save', ['checkpoint']],
  ['models/folder/load-', ['checkpoint', 'logprob']],
  ['models/folder/', null],
  ['models/config', null],
  ['models/parse/', null],
  ['models/activation-bytes', null],
  ['models/sequence-classifier', null],
  ['models/init', null],
  ['models/recompute', ['loss', 'logprob']],
  ['models/', ['logprob', 'generation']],
  ['rewards/score', ['reward']],
  ['rewards/reward-table', ['reward']],
  ['rewards/read-value', ['reward']],
  ['objective/metrics/', null],
  ['objective/advantage', ['advantage']],
  ['objective/statistics', ['advantage']],
  ['objective/reward-columns', ['advantage', 'reward']],
  ['objective/logprob', ['logprob']],
  ['objective/vocabulary', ['logprob']],
  ['objective/entropy', ['logprob', 'loss']],
  ['objective/kl', ['kl']],
  ['objective/beta', ['kl']],
  ['objective/masks', ['masks', 'loss', 'advantage']],
  // The weights of the loss are handed over with the advantages.
  ['objective/aggregation', ['loss', 'advantage']],
  ['objective/token-rows', ['loss', 'advantage', 'masks']],
  ['objective/', ['loss']],
  ['step/observer', null],
  ['step/metric-tally', null],
  ['step/compare-rewards', ['advantage', 'reward']],
  ['step/frozen-logprobs', ['logprob', 'kl']],
  ['step/moving-reference', ['kl', 'weight sync']],
  ['step/control', ['kl', 'loss']],
  ['step/token-values', ['logprob', 'loss']],
  ['step/sampling', ['generation']],
  ['step/roll-out', ['generation', 'reward', 'template', 'data']],
  ['step/replay-store', ['data', 'advantage']],
  ['step/exchange', ['data', 'advantage']],
  ['step/groups', ['data', 'advantage']],
  ['step/batch', ['loss', 'masks', 'tokens', 'advantage']],
  ['step/micro-batch', ['loss', 'logprob', 'masks']],
  ['step/training-pass', ['logprob', 'loss', 'masks']],
  ['step/stages', ['reward', 'generation', 'template', 'logprob', 'advantage', 'optimizer']],
  ['step/', ['loss', 'optimizer', 'logprob']],
  ['run/schedule', ['optimizer']],
  ['run/saver', ['checkpoint']],
  ['run/folder/checkpoint', ['checkpoint']],
  ['run/folder/replay-file', ['checkpoint', 'data']],
  ['run/grpo-trainer', ['configuration', 'checkpoint', 'data', 'weight sync']],
  ['run/open-run', ['configuration', 'checkpoint', 'optimizer', 'data']],
  ['run/run-steps', ['configuration', 'checkpoint', 'data']],
  ['run/train-grpo', ['configuration', 'data', 'optimizer']],
];

const TORCH: typeof GRPO = [
  ['adamw', ['optimizer']],
  ['autograd', ['optimizer', 'loss']],
];

const grpoDist = fileURLToPath(new URL('../../', import.meta.url));
const torchDist = () => dirname(realpathSync(createRequire(import.meta.url).resolve('@grpo/torch')));

/** All of them, by path. */
export function readSubjects(): Subject[] {
  return [...inPackage('grpo', grpoDist, GRPO), ...inPackage('torch', torchDist(), TORCH)];
}

function inPackage(name: string, dist: string, table: typeof GRPO): Subject[] {
  return readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.js') && !path.includes('.test.'))
    .sort()
    .flatMap((path) => {
      const stages = table.find(([start]) => path.startsWith(start))?.[1];
      if (!stages) return [];
      const file = join(dist, path);
      const source = `packages/${name}/src/${path.replace(/\.js$/, '.ts')}`;
      return [{ path: source, url: pathToFileURL(file).href, stages, text: readFileSync(file, 'utf8') }];
    });
}

import { describe, expect, it } from 'vitest';
import { resolveConfig } from './resolve.js';
import { rewardName } from './reward-kinds.js';

const resolve = (rewards: string) =>
  resolveConfig({
    command: 'train',
    settings: ['model=m', 'task.data=d.jsonl', 'task.grading=none', `rewards=${rewards}`],
    env: {},
  }).config.rewards;

describe('a reward', () => {
  it.each([
    ['{module: a/brief.ts}', 'brief'],
    ['{module: a/brief.ts, name: mine}', 'mine'],
    ['{builtin: think-format}', 'think-format'],
    ['{model: org/judge-1.5B}', 'judge-1.5B'],
    ['{model: ./models/judge}', 'judge'],
    ['{judge: {baseURL: u, model: m, prompt: p}}', 'judge'],
  ])('%s is named %s', (reward, name) => {
    expect(resolve(`[${reward}]`).map(rewardName)).toEqual([name]);
  });

  it.each([
    ['{weight: 1}', /rewards\.0 takes one of module, builtin, model and judge, and has none/],
    [
      '{module: a.ts, builtin: accuracy}',
      /rewards\.0 takes one of module, builtin, model and judge, and has 2/,
    ],
    ['{builtin: overlong, maxTokens: 9}', /rewards\.0 overlong needs buffer/],
    ['{builtin: cosine-length}', /rewards\.0 cosine-length needs maxTokens/],
    ['{builtin: accuracy, ngram: 2}', /rewards\.0 ngram has no effect on accuracy; take it out/],
    ['{model: m, timeoutSeconds: 2}', /rewards\.0 timeoutSeconds has no effect on model; take it out/],
    ['{module: a.ts, maxTokens: 2}', /rewards\.0 maxTokens has no effect on module; take it out/],
    ['{module: a.ts, tierKey: t}', /rewards\.0 tierKey has no effect without tiers/],
    ['{builtin: overlong, maxTokens: 4, buffer: 5}', /a buffer of 5 tokens does not fit into maxTokens=4/],
    ['{builtin: brief}', /rewards\.0\.builtin: expected think-format \| accuracy \|/],
    ['{builtin: repetition, maxPenalty: 1}', /rewards\.0\.maxPenalty: expected a number <= 0, found 1/],
    ['{module: a.ts, tiers: {A: {missed: 1}}}', /rewards\.0\.tiers\.A\.over/],
    [
      '{judge: {baseURL: u, model: m}}',
      /rewards\.0\.judge\.prompt: expected text that is not empty, found nothing/,
    ],
    [
      '{judge: {baseURL: u, model: m, prompt: p, retrys: 1}}',
      /rewards\.0\.judge\.retrys .* nearest known key is retries/,
    ],
    [
      '{judge: {baseURL: u, model: m, prompt: p}, timeoutSeconds: 2}',
      /timeoutSeconds has no effect on judge/,
    ],
    [
      '{judge: {baseURL: u, model: m, prompt: p, ask: ranking, components: {a: 1}}}',
      /components and tiers have no effect on a ranking/,
    ],
    ['{builtin: accuracy}, {builtin: accuracy}', /two rewards are named 'accuracy'/],
  ])('[%s] is refused', (rewards, message) => {
    expect(() => resolve(`[${rewards}]`)).toThrow(message);
  });
});

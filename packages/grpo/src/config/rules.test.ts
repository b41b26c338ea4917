import { describe, expect, it } from 'vitest';
import { UsageError } from './errors.js';
import { resolveConfig } from './resolve.js';
import { rules } from './rules.js';

const OWN = ['task.data=a.jsonl', 'model=m'];
type Case = [
  rule: RegExp,
  broken: string[],
  mended: string[],
  command?: 'train' | 'sft' | 'expert' | 'eval' | 'generate',
];

const cases: Case[] = [
  [/no task\. Give task\.data/, ['model=m'], OWN],
  [/jsonl needs a file/, ['task.name=jsonl', 'model=m'], ['task.name=jsonl', ...OWN]],
  ...['data=x', 'evalData=x', 'grading=none', 'prompt=x', 'system=x', 'questionKey=x', 'answerKey=x'].map(
    (setting): Case => [
      new RegExp(`task\\.name .*task\\.${setting.split('=')[0]} \\(command line\\): .*has no effect`),
      ['task.name=arithmetic', `task.${setting}`, 'rewards=[{module: a.ts}]'],
      [...OWN, `task.${setting}`, 'rewards=[{module: a.ts}]'],
    ],
  ),
  [
    /task\.slips is for task\.name=arithmetic/,
    [...OWN, 'task.slips=0.1'],
    ['task.name=arithmetic', 'task.slips=0.1'],
  ],
  [/^model \(default\): no model/, ['task.data=a.jsonl'], OWN],
  [/^model \(default\): no model/, ['task.name=arithmetic'], ['task.name=arithmetic', 'model=m'], 'eval'],
  [/^model \(default\): no model/, [], ['model=m'], 'generate'],
  [
    /two rewards are named 'length'/,
    [...OWN, 'rewards=[{module: a/length.ts}, {module: b/length.js}]'],
    [...OWN, 'rewards=[{module: a/length.ts}, {module: b/length.js, name: other}]'],
  ],
  ...[[], ['rewards=[{module: a.ts, weight: 0}]']].map(
    (none): Case => [
      /^task\.grading \(command line\), rewards \(.*\): without grading .* Give rewards=\[\{module/,
      [...OWN, 'task.grading=none', ...none],
      [...OWN, 'task.grading=none', 'rewards=[{module: a.ts, weight: -1}]'],
    ],
  ),
  [
    /without grading/,
    [...OWN, 'task.grading=none'],
    [...OWN, 'task.grading=none', 'rewards=[{module: a.ts}]'],
    'eval',
  ],
  [
    /at least 10 tokens cannot fit into at most 9/,
    [...OWN, 'rollout.minNewTokens=10', 'rollout.maxNewTokens=9'],
    [...OWN, 'rollout.minNewTokens=9', 'rollout.maxNewTokens=9'],
  ],
  [
    /reward is enough\. Give expert\.threshold/,
    [...OWN, 'task.grading=none', 'rewards=[{module: a.ts}]'],
    [...OWN, 'task.grading=none', 'rewards=[{module: a.ts}]', 'expert.threshold=0'],
    'expert',
  ],
  [
    /pass@8 takes at least 8 samples of a problem, eval\.samples is 4/,
    [...OWN, 'eval.k=[1, 8]', 'eval.samples=4'],
    [...OWN, 'eval.k=[1, 8]', 'eval.samples=8'],
    'eval',
  ],
  [
    /so one of them would do/,
    [...OWN, 'rollout.temperature=0'],
    [...OWN, 'rollout.temperature=0.01'],
    'expert',
  ],
  [
    /never ends within expert\.iterations=10/,
    [...OWN, 'optimizer.warmupSteps=20', 'expert.iterations=10'],
    [...OWN, 'optimizer.warmupSteps=20', 'expert.iterations=20'],
    'expert',
  ],
  [/every advantage is 0/, [...OWN, 'rollout.temperature=0'], [...OWN, 'rollout.temperature=0.01']],
  [
    /2 updates from one rollout .* ratio would stay 1 .*recompute or sampler/,
    [...OWN, 'objective.iterations=2'],
    [...OWN, 'objective.iterations=2', 'objective.oldLogprobs=sampler'],
  ],
  [
    /4 updates from one rollout/,
    [...OWN, 'objective.minibatches=4', 'objective.oldLogprobs=detach'],
    [...OWN, 'objective.minibatches=4', 'objective.oldLogprobs=recompute'],
  ],
  [
    /8 prompts do not split into 3 minibatches/,
    [...OWN, 'objective.minibatches=3', 'objective.oldLogprobs=sampler'],
    [...OWN, 'objective.minibatches=3', 'objective.oldLogprobs=sampler', 'rollout.prompts=9'],
  ],
  [
    /warm-up of 20 steps never ends within train\.steps=10/,
    [...OWN, 'optimizer.warmupSteps=20', 'train.steps=10'],
    [...OWN, 'optimizer.warmupSteps=10', 'train.steps=10'],
  ],
  [
    /never ends within sft\.steps=10/,
    [...OWN, 'optimizer.warmupSteps=20', 'sft.steps=10'],
    [...OWN, 'optimizer.warmupSteps=20', 'sft.steps=20'],
    'sft',
  ],
];

describe('rules between keys', () => {
  it.each(cases)('%s', (message, broken, mended, command = 'train') => {
    expect(() => resolveConfig({ command, settings: broken })).toThrow(UsageError);
    expect(() => resolveConfig({ command, settings: broken })).toThrow(message);
    expect(() => resolveConfig({ command, settings: mended })).not.toThrow();
  });

  it('are all tried above', () => {
    const messages = cases.map(([, broken, , command = 'train']) => {
      try {
        resolveConfig({ command, settings: broken });
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    });
    for (const rule of rules) {
      const names = rule.keys.map((key) => `${key} (`);
      expect(messages.some((message) => names.every((name) => message.includes(name)))).toBe(true);
    }
  });

  it('need no reward for SFT', () => {
    const settings = [...OWN, 'task.grading=none'];
    expect(resolveConfig({ command: 'sft', settings }).config.rewards).toEqual([]);
  });

  it('ask a model and a task only of commands that need them', () => {
    for (const command of ['train', 'sft', 'expert'] as const) {
      expect(() => resolveConfig({ command, settings: ['task.name=arithmetic'] })).not.toThrow();
    }
    expect(() => resolveConfig({ command: 'demo' })).not.toThrow();
    expect(() =>
      resolveConfig({ command: 'generate', settings: ['model=m', 'rollout.temperature=0'] }),
    ).not.toThrow();
  });
});

import { describe, expect, it } from 'vitest';
import { parseArguments } from '../../cli/arguments.js';
import { commands } from '../../cli/table.js';
import { resolveConfig, UsageError } from '../../config/index.js';
import { findKey } from '../../config/keys.js';
import { type Layer, mergedLayer } from '../../config/layers/layer.js';
import { translate } from './dialect.js';
import { assignmentFlags } from './flags.js';

const train = commands.find(({ name }) => name === 'train')!;

/** What a command line of the assignment becomes. */
function read(line: string, preset = 'cs336') {
  const { flags, settings } = parseArguments(train, ['--preset', preset, ...line.split(' ').filter(Boolean)]);
  const named = { value: preset, source: '--preset' };
  const resolve = (layer: Layer) =>
    resolveConfig({
      command: 'train',
      env: {},
      flags: mergedLayer([{ entries: new Map([['preset', named]]), problems: [] }, layer]),
      settings: ['model=m', 'task.data=d.jsonl', ...settings].filter(
        (one) =>
          !(one === 'model=m' && flags['model-path']) && !(one === 'task.data=d.jsonl' && flags['data-path']),
      ),
    });
  const { layer, notes } = translate(flags, resolve);
  return { ...resolve(layer), notes };
}

describe('flags of the assignment', () => {
  it('are its settings, under their names', () => {
    const { config, provenance } = read(
      '--n-grpo-steps 10 --eval-steps 2 --rollout-batch-size 64 --train-batch-size 64 --gradient-accumulation-steps 32 ' +
        '--learning-rate 2e-5 --model-path here --data-path t.jsonl --val-data-path v.jsonl --save-dir out ' +
        '--loss-type no_baseline --advantage-eps 1e-5 --sampling-temperature 0.9 --sampling-min-tokens 3 --sampling-max-tokens 512',
    );
    expect(config).toMatchObject({
      preset: 'cs336',
      model: 'here',
      output: 'out',
      task: { data: 't.jsonl', evalData: 'v.jsonl', name: 'jsonl' },
      train: { steps: 10, microBatchTokens: 2 * 512 },
      eval: { every: 2 },
      rollout: { prompts: 8, group: 8, temperature: 0.9, minNewTokens: 3, maxNewTokens: 512 },
      objective: { loss: 'no_baseline', minibatches: 1, iterations: 1 },
      optimizer: { learningRate: 2e-5 },
      checkpoint: { every: 10 },
    });
    expect(provenance).toMatchObject({
      'train.steps': '--n-grpo-steps',
      'rollout.prompts': '--rollout-batch-size',
      'train.microBatchTokens': '--gradient-accumulation-steps',
      'optimizer.beta2': expect.stringMatching(/^preset cs336 \(CS336/),
    });
  });

  it('know standard deviation and its absence', () => {
    expect(read('--no-use-std-normalization').config.advantage.scale).toBe('none');
    expect(read('--use-std-normalization').config.advantage.scale).toBe('group');
  });

  it('of the off-policy example are read as 4 × 256, with old log-probs of their own', () => {
    const { config, notes } = read(
      '--epochs-per-rollout-batch 4 --train-batch-size 1024 --loss-type grpo_clip --cliprange 0.2',
    );
    expect(config.objective).toMatchObject({
      loss: 'grpo_clip',
      iterations: 4,
      minibatches: 1,
      oldLogprobs: 'recompute',
    });
    expect(notes).toEqual([expect.stringContaining('is read as 4 × 256')]);
  });

  it('say what becomes of micro-batches', () => {
    const { notes } = read('--gradient-accumulation-steps 128');
    expect(notes[0]).toMatch(/2 completions of up to 1024 tokens become train\.microBatchTokens=2048/);
  });

  it('count completions whatever the size of a group', () => {
    expect(read('--group-size 16').config.rollout).toMatchObject({ prompts: 16, group: 16 });
  });

  it('set nothing that was not given', () => {
    const { provenance, notes } = read('--epochs-per-rollout-batch 2 --loss-type grpo_clip');
    expect(provenance['rollout.prompts']).toMatch(/^preset cs336/);
    expect(provenance['objective.oldLogprobs']).toBe('--epochs-per-rollout-batch');
    expect(notes).toEqual([]);
  });

  it('lose against key=value', () => {
    expect(read('--n-grpo-steps 10 train.steps=7').config.train.steps).toBe(7);
  });

  it('send the numbers to W&B', () => {
    const { config, provenance } = read('--wandb-project grpo --wandb-run-name mine');
    expect(config.sinks).toEqual([{ wandb: 'grpo', name: 'mine' }]);
    expect(provenance.sinks).toBe('--wandb-project');
    expect(read('--wandb-project 12').config.sinks).toEqual([{ wandb: '12' }]);
    // A run that is resumed with the same flags has the sink already.
    expect(read('--wandb-project a sinks=[{"wandb":"a"}]').config.sinks).toEqual([{ wandb: 'a' }]);
  });

  it.each([
    ['--wandb-run-name b', /--wandb-project is not given/],
    ['--wandb-project a sinks=[csv]', /--wandb-project and sinks both say/],
  ])('%s is refused', (line, message) => {
    expect(() => read(line)).toThrow(message);
  });

  it.each([
    ['--cliprange 0.1', /objective\.clipLow \(--cliprange\).*has no effect: policy=reinforce does not clip/],
    ['--n-grpo-steps x', /train\.steps: expected a whole number >= 1, found 'x' \(--n-grpo-steps\)/],
    ['--train-batch-size 2.5', /--train-batch-size must be a whole number >= 1, found '2\.5'/],
    ['--rollout-batch-size 250', /does not split into groups/],
  ])('%s is refused', (line, message) => {
    expect(() => read(line)).toThrow(UsageError);
    expect(() => read(line)).toThrow(message);
  });

  it('need the preset', () => {
    expect(() => parseArguments(train, ['--n-grpo-steps', '3'])).toThrow(
      '--n-grpo-steps is taken with --preset cs336 only.',
    );
    expect(parseArguments(train, ['preset=cs336-offpolicy', '--n-grpo-steps', '3']).flags).toMatchObject({
      'n-grpo-steps': '3',
    });
    expect(() => parseArguments(train, ['--preset=dapo', '--n-grpo-steps', '3'])).toThrow(/is taken with/);
  });

  it('lead to settings that there are', () => {
    const paths = Object.values(assignmentFlags).flatMap(({ key }) => key ?? []);
    expect(paths.filter((path) => !findKey(path))).toEqual([]);
    expect(paths.length).toBeGreaterThan(10);
  });
});

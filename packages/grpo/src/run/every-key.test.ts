import { beforeAll, describe, expect, it } from 'vitest';
import { keys } from '../config/keys.js';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { ADAPTER, leftBy, MODELS, TASKS, type TrainingCommand, writeFiles } from './every-key.test.helper.js';
import { PROCESS_MB } from './tiny-model.test.helper.js';

/** Two ways to set a key under which runs must differ. */
interface Row {
  /** The settings of both runs: where the key has an effect. */
  with?: readonly string[];
  /** Those of the first alone: nothing, where the default is one of the two. */
  from?: readonly string[];
  to: readonly string[];
  task?: keyof typeof TASKS | 'none';
  command?: TrainingCommand;
  /** It shows in what the run would go on with: it takes more steps to act. */
  carried?: true;
  /** That the second run is refused is the effect. */
  refused?: true;
}

const OFF_POLICY = ['objective.iterations=2', 'objective.oldLogprobs=recompute'];
const KL = ['kl.beta=0.5'];
const ADAPTIVE = [...KL, 'kl.control=adaptive'];
const ENTROPY = ['entropy.coefficient=0.1', 'entropy.adaptive=true', 'entropy.target=100'];
const CORRECTED = ['correction.level=token'];
const LORA = ['lora.rank=2'];
const STOPS = ['task.stop=["e", "a", "t", "o", "1", " "]', 'rollout.maxNewTokens=12'];
const SHORT = ['task.prompt=prompt.txt'];
const MIXED = [`model=${MODELS.llama3}`, 'task.name=mix', 'task.evalSize=1'];
const DENOISED = [`model=${MODELS.diffusion}`];
const EXPERT = { command: 'expert', with: ['expert.threshold=-9'] } as const;

const set = (key: string, value: string, more: Partial<Row> = {}): [string, Row] => [
  key,
  { to: [`${key}=${value}`], ...more },
];

/** Shown to act where several processes run: processes/join-peers.test.ts. */
const OF_SEVERAL = ['processes.timeout'];

/** For each other key: what shows that it changes what runs. */
const table: Readonly<Record<string, Row>> = Object.fromEntries([
  set('preset', 'dr-grpo'),
  set('model', MODELS.gpt2),
  set('output', 'elsewhere'),
  set('seed', '1'),
  set('device', 'mps', { refused: true }),
  set('dtype', 'bfloat16'),
  set('threads', '2'),
  set('memory', `${PROCESS_MB + 40}MB`),
  set('rewards', '[{module: wave.mjs}]'),
  set('onRewardError', 'drop', { from: ['onRewardError=stop'], with: ['rewards=[{module: failing.mjs}]'] }),
  set('sinks', '[csv]'),
  ['task.name', { task: 'none', from: TASKS.arithmetic, to: [...TASKS.jsonl, 'task.name=jsonl'] }],
  set('task.data', 'other.jsonl'),
  set('task.evalData', 'held2.jsonl'),
  [
    'task.mix',
    {
      task: 'none',
      with: MIXED,
      from: ['task.mix=[{name: arithmetic}, {name: jsonl, data: data.jsonl, prompt: prompt.txt}]'],
      to: ['task.mix=[{name: arithmetic}, {name: jsonl, data: data.jsonl, prompt: prompt.txt, share: 3}]'],
    },
  ],
  set('task.evalSize', '7', { task: 'arithmetic', with: ['eval.limit=20'], from: ['task.evalSize=5'] }),
  set('task.grading', 'numeric', { with: SHORT }),
  set('task.prompt', 'prompt.txt'),
  set('task.system', 'Be brief.'),
  set('task.stop', '["e", "a", "t", "o"]', { with: ['rollout.maxNewTokens=12'] }),
  ['task.engine', { task: 'chess', to: ['task.engine=engine.mjs'] }],
  set('task.slips', '0', { task: 'arithmetic', command: 'sft' }),
  set('task.questionKey', 'q2'),
  set('task.answerKey', 'a2', { command: 'sft', with: [...SHORT, 'task.grading=numeric'] }),
  set('rollout.prompts', '3'),
  set('rollout.group', '4'),
  set('rollout.maxNewTokens', '8'),
  set('rollout.minNewTokens', '9', { with: STOPS }),
  set('rollout.temperature', '0.5'),
  set('rollout.topP', '0.5'),
  set('rollout.topK', '2'),
  set('rollout.minP', '0.5'),
  set('rollout.keepSupport', 'false', { with: ['rollout.topP=0.5'] }),
  set('rollout.repetitionPenalty', '3', { with: ['rollout.maxNewTokens=20'] }),
  set('rollout.presencePenalty', '5', { with: ['rollout.maxNewTokens=20'] }),
  set('rollout.frequencyPenalty', '5', { with: ['rollout.maxNewTokens=20'] }),
  set('rollout.invariant', 'true'),
  set('rollout.engine', 'vllm', { refused: true }),
  set('rollout.urls', '[http://127.0.0.1:9]', { refused: true }),
  set('rollout.apiKeyEnv', 'KEY', { refused: true }),
  set('rollout.timeoutSeconds', '1', { refused: true }),
  set('rollout.weightsFolder', 'weights', { refused: true }),
  set('diffusion.blockLength', '2', { with: DENOISED }),
  set('diffusion.steps', '2', { with: DENOISED }),
  set('diffusion.remasking', 'random', { with: [...DENOISED, 'diffusion.steps=3'] }),
  set('diffusion.estimator', 'coupled', { with: DENOISED }),
  set('diffusion.promptMaskRate', '0.9', { with: DENOISED }),
  set('diffusion.maskRates', '[0.2, 0.3]', { with: [...DENOISED, 'diffusion.estimator=sum_masked'] }),
  set('groups.refills', '2', { with: ['rewards=[{module: coarse.mjs}]'] }),
  set('groups.replay', '2', {
    with: ['rewards=[{module: coarse.mjs}]', 'objective.oldLogprobs=sampler'],
  }),
  set('groups.overlongBuffer', '4'),
  set('objective.loss', 'reinforce_sum'),
  set('objective.module', 'loss.mjs'),
  set('objective.policy', 'sapo', { with: OFF_POLICY }),
  set('objective.ratio', 'sequence', { with: OFF_POLICY }),
  set('objective.aggregation', 'constant'),
  set('objective.normalizer', '3', { with: ['objective.loss=dr_grpo', 'optimizer.maxGradNorm=0'] }),
  set('objective.clipLow', '0.01', { with: [...OFF_POLICY, 'objective.clipHigh=0.2'] }),
  set('objective.clipHigh', '0.01', { with: OFF_POLICY }),
  set('objective.delta', '0.5', { with: OFF_POLICY }),
  set('objective.cap', '0.5', { with: [...OFF_POLICY, 'objective.loss=cispo'] }),
  set('objective.divergenceLow', '0', {
    with: [...OFF_POLICY, 'objective.loss=dppo_tv', 'objective.divergenceHigh=0.2'],
  }),
  set('objective.divergenceHigh', '0', { with: [...OFF_POLICY, 'objective.loss=dppo_tv'] }),
  set('objective.slopePositive', '3', { with: [...OFF_POLICY, 'objective.loss=sapo'] }),
  set('objective.slopeNegative', '3', { with: [...OFF_POLICY, 'objective.loss=sapo'] }),
  set('objective.vespoPositive', '[5, 1]', { with: [...OFF_POLICY, 'objective.loss=vespo'] }),
  set('objective.vespoNegative', '[5, 1]', { with: [...OFF_POLICY, 'objective.loss=vespo'] }),
  set('objective.oldLogprobs', 'sampler'),
  set('objective.iterations', '3', { with: ['objective.oldLogprobs=recompute'] }),
  set('objective.minibatches', '2', { with: ['objective.oldLogprobs=recompute'] }),
  set('objective.maskTruncated', 'true'),
  set('objective.offPolicyThreshold', '0', { with: OFF_POLICY }),
  set('objective.compat', 'trl', { with: ['rewards=[{module: flat.mjs}]', 'rollout.group=8'] }),
  set('advantage.baseline', 'none'),
  set('advantage.scale', 'none'),
  set('advantage.ddof', '0'),
  set('advantage.epsilon', '0.5'),
  set('advantage.floor', '5'),
  set('advantage.flatBelow', '5'),
  set('advantage.flat', 'raw', { with: ['advantage.flatBelow=5'] }),
  set('advantage.whiten', 'true'),
  set('advantage.weight', '0.1', { with: ['optimizer.maxGradNorm=0'] }),
  set('advantage.clip', '0.1'),
  set('advantage.combine', 'normalize_then_sum'),
  set('kl.beta', '0.5'),
  set('teacher.model', MODELS.qwen2, { with: KL }),
  ...['engine=vllm', 'url=http://127.0.0.1:9', 'apiKeyEnv=KEY'].map((setting) => {
    const [key, value] = setting.split('=') as [string, string];
    return set(`teacher.${key}`, value, { with: KL, refused: true });
  }),
  ...['k1', 'full'].map((value) => set('kl.estimator', value, { with: KL })),
  set('kl.level', 'sequence_sum', { with: KL }),
  set('kl.place', 'reward', { with: KL }),
  set('kl.biasCorrected', 'true', { with: [...KL, ...OFF_POLICY] }),
  set('kl.clip', '0.001', { with: KL }),
  set('kl.warmupSteps', '2', { with: KL }),
  set('kl.warmup', 'zero', { with: [...KL, 'kl.warmupSteps=2'] }),
  set('kl.control', 'adaptive', { with: KL, to: ['kl.control=adaptive', 'kl.target=100'] }),
  set('kl.target', '100', { with: ['train.steps=3', ...ADAPTIVE], from: ['kl.target=1e-9'] }),
  set('kl.band', '1e9', { with: [...ADAPTIVE, 'kl.target=100'] }),
  set('kl.up', '3', { with: ['train.steps=3', ...ADAPTIVE, 'kl.target=1e-9'] }),
  set('kl.down', '0.1', { with: [...ADAPTIVE, 'kl.target=100'] }),
  set('kl.rate', '1', { with: [...KL, 'kl.control=lagrangian', 'kl.target=1e-3'] }),
  set('kl.least', '0.49', { with: [...ADAPTIVE, 'kl.target=100'] }),
  set('kl.most', '0.51', { with: ['train.steps=3', ...ADAPTIVE, 'kl.target=1e-9', 'kl.up=3'] }),
  set('kl.window', '3', { with: ['train.steps=3', ...KL, 'kl.control=lagrangian', 'kl.target=1e-3'] }),
  set('kl.kindKey', 'kind', { with: KL }),
  set('kl.referenceEvery', '1', { with: KL }),
  set('kl.referenceMix', '1', { with: [...KL, 'kl.referenceEvery=1'] }),
  set('entropy.coefficient', '0.1'),
  set('entropy.topShare', '0.5'),
  set('entropy.adaptive', 'true', { with: ['entropy.coefficient=0.1'] }),
  set('entropy.target', '0.1', { with: ENTROPY }),
  set('entropy.delta', '0.1', { with: ENTROPY }),
  set('entropy.least', '0.099', { with: [...ENTROPY, 'entropy.target=0.1'], carried: true }),
  set('entropy.most', '0.1', { with: ENTROPY }),
  set('correction.level', 'token'),
  set('correction.measure', 'k3', { with: [...CORRECTED, 'correction.action=mask', 'correction.max=0.5'] }),
  set('correction.action', 'mask', { with: [...CORRECTED, 'correction.max=1'] }),
  set('correction.min', '1', { with: CORRECTED }),
  set('correction.max', '1', { with: CORRECTED }),
  set('lora.rank', '2'),
  set('lora.alpha', '1', { with: LORA }),
  set('lora.targets', '[q_proj]', { with: LORA }),
  set('lora.dropout', '0.5', { with: LORA, command: 'sft' }),
  set('lora.adapter', ADAPTER),
  set('optimizer.learningRate', '0.02'),
  set('optimizer.beta1', '0.5'),
  set('optimizer.beta2', '0.5'),
  set('optimizer.epsilon', '0.1'),
  set('optimizer.weightDecay', '0.5'),
  set('optimizer.maxGradNorm', '0.01'),
  set('optimizer.schedule', 'linear'),
  set('optimizer.minLearningRate', '0.005', { with: ['optimizer.schedule=linear'] }),
  set('optimizer.warmupSteps', '2'),
  set('train.steps', '1'),
  set('train.repeatBatch', 'true'),
  set('train.log', 'micro'),
  set('train.microBatchTokens', '12'),
  set('train.recompute', 'layers'),
  ['train.canaries', { from: ['train.canaries=0'], to: ['train.canaries=1'], with: SHORT }],
  set('train.kindGradients', '1', { with: ['kl.kindKey=kind'] }),
  set('eval.every', '1'),
  set('eval.stopAt', '-9', { with: ['eval.every=1'] }),
  set('eval.samples', '2'),
  set('eval.k', '[2]', { with: [...SHORT, 'eval.samples=2', 'task.grading=numeric'] }),
  set('eval.temperature', '0.1'),
  set('eval.limit', '1'),
  set('eval.before', 'true'),
  set('checkpoint.every', '1'),
  set('checkpoint.minutes', '1e-9'),
  set('checkpoint.keep', '1', { with: ['checkpoint.every=1'] }),
  set('record.every', '3', { with: ['train.steps=3'] }),
  set('doctor.every', '1', { from: ['doctor.every=0'], with: ['doctor.onFinding=warn'] }),
  set('doctor.onFinding', 'warn'),
  set('sft.steps', '1', { command: 'sft' }),
  set('sft.batchSize', '3', { command: 'sft' }),
  set('sft.learningRate', '0.02', { command: 'sft' }),
  set('expert.iterations', '1', EXPERT),
  set('expert.threshold', '0.5', { command: 'expert', from: ['expert.threshold=-9'] }),
  set('expert.perProblem', '1', EXPERT),
  set('expert.unique', 'true', { ...EXPERT, with: [...EXPERT.with, 'rollout.temperature=0.01'] }),
  set('expert.epochs', '2', EXPERT),
]);

const folder = sharedFolder();
beforeAll(() => {
  writeFiles(folder);
});

/** Many rows compare with the same run. */
const done = new Map<string, Promise<string>>();
function left(command: TrainingCommand, settings: readonly string[], carried = false): Promise<string> {
  const name = [command, carried, ...settings].join(' ');
  const run = done.get(name) ?? leftBy(folder, command, settings, carried);
  done.set(name, run);
  return run;
}

describe('every key', () => {
  it('of the schema is in the table, and nothing else is', () => {
    expect([...Object.keys(table), ...OF_SEVERAL].sort()).toEqual(keys.map(({ path }) => path).sort());
  });

  it('is compared between runs that are otherwise equal', async () => {
    const [first, second] = [await leftBy(folder, 'train', TASKS.jsonl), await left('train', TASKS.jsonl)];
    expect(first).toBe(second);
    expect(first).not.toMatch(/^refused/);
  });

  it.each(Object.entries(table))('%s changes what runs', async (_, row) => {
    const { command = 'train', task = 'jsonl', with: both = [], from = [], to, carried, refused } = row;
    const base = [...(task === 'none' ? [] : TASKS[task]), ...both];
    const a = await left(command, [...base, ...from], carried);
    const b = await left(command, [...base, ...to], carried);
    expect(b).not.toBe(a);
    if (row !== table.onRewardError) expect(a).not.toMatch(/^refused/);
    if (!refused) expect(b).not.toMatch(/^refused/);
  });
});

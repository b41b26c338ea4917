import { describe, expect, it, onTestFinished } from 'vitest';
import { column, lines, readText, steps } from './files.test.helper.js';
import { nameMetrics } from './rows/given-names.js';

describe('lines of names and numbers', () => {
  it('of a script are read whatever signs it likes', async () => {
    const reading = await readText(
      'train.log',
      [
        'Loaded model with lr=1e-6',
        '[2026-01-01 10:00:00,123] INFO trainer: GRPO step 10/50 | Loss: 0.0120 | avg_reward = 0.2500 | approx_kl=1.2e-3 | Grad. Norm 0.5000 | trunc: 12.5%',
        'Reward for the best sample: 0.9',
        'GRPO step 20/50 | Loss: 0.0100 | avg_reward = 0.5000 | approx_kl=np.float64(0.002) | Grad. Norm 0.4000 | trunc: 25.0%',
      ].join('\n'),
    );
    expect(reading).toMatchObject({ kind: 'console log', isGrpo: true });
    expect(steps(reading)).toEqual([10, 20]);
    expect(reading.series!.lastStep).toBe(50);
    expect(reading.series!.entries[0]!.values).toEqual({
      loss: 0.012,
      reward: 0.25,
      'kl/old': 0.0012,
      grad_norm: 0.5,
      'completions/clipped_ratio': 0.125,
    });
    expect(reading.series!.decimals).toEqual({ loss: 4, reward: 4, grad_norm: 4 });
    expect(reading.notes[0]).toContain('avg_reward as reward, approx_kl as kl/old');
  });

  it.each<[string, string, Record<string, number>]>([
    [
      'a comma between thousands',
      'grpo_loss/kl_divergence_mean: 1,568,987.96, loss: -0.198, reward: 1,200\n',
      { kl: 1568987.96, loss: -0.198, reward: 1200 },
    ],
    [
      'a name and its number in each line, without a step',
      'reward: 0.5\nkl: 1,568.5\ngrad_norm: 0.3\n',
      { reward: 0.5, kl: 1568.5, grad_norm: 0.3 },
    ],
    [
      'a reward alone below the line of its step',
      'epoch: 0|step: 7|ppo_ep: 1|act_loss: 0.025\naverage reward score: 0.205\nreward: 9\n',
      { epoch: 0, ppo_ep: 1, loss: 0.025, reward: 0.205 },
    ],
    [
      'a metric in each row of a table',
      '| metric | value | seen |\n|---|---|---:|\n| `completions/clipped_ratio` | **1** | **40 / 40** |\n| `reward` | 0 | 39 / 40 |\n',
      { 'completions/clipped_ratio': 1, reward: 0 },
    ],
    [
      'names in quotes, of a dict without its brace',
      "'loss': -0.5, 'grad_norm': 0.5, 'reward': 0.25}\n",
      { loss: -0.5, grad_norm: 0.5, reward: 0.25 },
    ],
    [
      'names in Markdown',
      'Step 7 `train/sampling_importance_ratio` **0.0596**, `gen_kl_error` 0.0027, `grad_norm` 8.6e-5\n',
      { 'sampling/importance_sampling_ratio/mean': 0.0596, 'sampling/kl': 0.0027, grad_norm: 8.6e-5 },
    ],
  ])('may have %s', async (_, text, values) => {
    const reading = await readText('a.log', text);
    expect(reading.isGrpo).toBe(true);
    expect(reading.series!.entries.map((entry) => entry.values)).toEqual([values]);
  });

  it('open another step where a name in a list of lines comes again, and single lines open none', async () => {
    const steps3 = [0.1, 0.2, 0.3].map((reward) => `reward: ${reward}\nloss: 0.5\n`).join('sample\n');
    expect(column(await readText('a.log', steps3), 'reward')).toEqual([0.1, 0.2, 0.3]);
    const told = await readText('a.log', 'reward: 1\nscore: 2\n\nstep 1 reward 0.5 loss 0.1\n');
    expect(column(told, 'reward')).toEqual([0.5]);
    await expect(readText('a.log', 'reward: 0.1\nsample\nreward: 0.2\n')).rejects.toThrow(/no|none/);
  });

  it('stand below the heading of their step, NaN and lengths among them', async () => {
    const block = (step: number) =>
      `Iteration ${step}/60\n│ reward │ 0.3258 │\n│ Completion length │ 220.1 │\n  loss: nan\n  mean_length: 210.3, lr: 0.0\n  throughput: 99\n`;
    const reading = await readText('a.log', block(1) + block(2));
    expect(steps(reading)).toEqual([1, 2]);
    expect(reading.series!.lastStep).toBe(60);
    expect(column(reading, 'loss')).toEqual([Number.NaN, Number.NaN]);
    expect(column(reading, 'learning_rate')).toEqual([0, 0]);
    expect(column(reading, 'completions/mean_length')[0]).toBeGreaterThan(200);
    expect(column(reading, 'throughput')).toEqual([undefined, undefined]);
  });

  it.each(['rollout: 64 prompts x 8 samples, 512 completions in 10.9s', 'Sampling batch 128 prompts'])(
    'take no step from a number of things: %s',
    async (line) => {
      const block = (step: number) =>
        `=== Update ${step} ===\n${line}\nupdate: loss=0.5 kl=0.1 grad_norm=0.2\n`;
      const reading = await readText('a.log', block(1) + block(2) + block(3));
      expect(steps(reading)).toEqual([1, 2, 3]);
    },
  );

  it('stand at bars within bars, each counted by itself', async () => {
    const inner = (episode: number) =>
      [1, 2].map(
        (i) =>
          `Episode [1/1]: 50%|██ | ${episode}/9 [00:01<00:01]\nTrain epoch [1/1]: 50%|██ | ${i}/2 [00:01<00:01, loss=0.5, reward=0.${episode}]\n`,
      );
    const reading = await readText('a.log', [...inner(1), ...inner(2), ...inner(3)].join(''));
    expect(steps(reading)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(column(reading, 'reward')).toEqual([0.1, 0.1, 0.2, 0.2, 0.3, 0.3]);
  });

  it.each([
    ['[071] mean reward 0.42 (max 1.000), loss nan', { reward: 0.42, loss: Number.NaN }],
    ['step 3 | r1_accuracy_reward_func mean 0.400, loss 0.1', { 'rewards/r1_accuracy/mean': 0.4, loss: 0.1 }],
    ['step 3 | KL散度 kl: 5.6 | loss 0.1', { kl: 5.6, loss: 0.1 }],
  ])('are found in %s', async (line, values) => {
    expect((await readText('a.log', `${line}\n`)).series!.entries[0]!.values).toMatchObject(values);
  });

  it('of prime-rl’s trainer have no reward and are GRPO’s', async () => {
    const line =
      '09:00:13 SUCCESS Step 1 | Time: 12.84s | Loss: 0.0026 | Entropy: 0.5903 | Mismatch KL: 0.0010 | Grad. Norm: 0.1252 | LR: 1.00e-06\n';
    const reading = await readText('a.log', line);
    expect(reading.isGrpo).toBe(true);
    expect(column(reading, 'sampling/kl')).toEqual([0.001]);
  });

  it('are no header of a table, though their words are metrics', async () => {
    const iter = (i: number) => `Iter ${i}: Val loss -0.00000001, Val total_rewards_mean 0.003, Val kl 0.1\n`;
    const reading = await readText('a.log', iter(1) + iter(2) + iter(3));
    expect(reading.broken.count).toBe(0);
  });

  it('have a NaN behind a step and a colon', async () => {
    const text =
      'Iter 1: Train loss nan, Total rewards mean 0.500, KL nan\nIter 2: Train loss nan, Total rewards mean 0.250, KL nan\n';
    const reading = await readText('a.log', text);
    expect(column(reading, 'loss')).toEqual([Number.NaN, Number.NaN]);
    expect(column(reading, 'kl')).toEqual([Number.NaN, Number.NaN]);
    expect(column(reading, 'reward')).toEqual([0.5, 0.25]);
  });

  it.each([
    ['spaces alone', 'step 3 loss 0.1 reward +0.500 kl 3.0e-04', {}],
    ['spaces alone, and deviations', 'step   3 reward 0.500±0.210 loss 0.1 kl 3.0e-04', {}],
    ['a step in one word', 'trainstep 3 loss 0.1 reward 0.5 kl 3.0e-04', {}],
    ['deviations in brackets', 'Step 3: reward 0.5 (+/- 0.21), loss 0.1, kl: 0.0003', {}],
    ['deviations between bars', 'step 3 | reward 0.5 ± 0.2 | loss 0.1 | kl 0.0003', {}],
    [
      'several numbers of one name',
      'Step 3 - rewards: mean=0.5, std=0.25, max=1.0 | loss 0.1 | kl 0.0003',
      { reward_std: 0.25 },
    ],
    [
      'several numbers of one name, with a bracket',
      '[step 3] rewards: mean 0.5 (std 0.25), loss 0.1, kl 0.0003',
      { reward_std: 0.25 },
    ],
    [
      'several numbers of another name',
      'step 3: reward=0.5, loss=0.1, kl=0.0003 | completion length: mean=300, std=20',
      { 'completions/mean_length': 300 },
    ],
    [
      'values of the first and the last update',
      'step 3 reward=0.5 loss=0.1 kl=0.0003 clipfrac=0.25->0.125',
      { 'clip_ratio/first': 0.25, 'clip_ratio/region_mean': 0.125 },
    ],
    [
      'two values of each name, and which',
      'step 3 | reward mean/std 0.5/0.25 | ratio first/last 1.0/1.5 clip 0.25/0.125 | loss 0.1 | kl 0.0003',
      { reward_std: 0.25, 'ratio/first': 1, 'ratio/mean': 1.5, 'clip_ratio/first': 0.25 },
    ],
    ['wide spaces before a sign', 'step 3 | reward   : 0.5 | loss     = 0.1 | kl      : 0.0003', {}],
    [
      'tensors with their gradient’s function',
      'step 3 loss tensor(0.1, grad_fn=<MeanBackward0>) reward tensor(0.5) kl 0.0003',
      {},
    ],
    [
      'a length of the most',
      'step 3 loss=0.1 reward=0.5 kl=0.0003 len=199/512',
      { 'completions/mean_length': 199 },
    ],
    [
      'a list of some rewards beside the mean of all',
      'step 3 | rewards: [1.0, 1.0] | mean_reward: 0.5 | loss 0.1 | kl 0.0003',
      {},
    ],
  ])('may have between them %s', async (_, line, more) => {
    const reading = await readText(
      'a.log',
      `${line}\n${line.replace('tep 3', 'tep 4').replace('  3', '  4')}\n`,
    );
    expect(steps(reading)).toEqual([3, 4]);
    expect(reading.series!.entries[0]!.values).toMatchObject({ reward: 0.5, loss: 0.1, kl: 3e-4, ...more });
    expect(reading.series!.entries[0]!.values.reward_std).toBe((more as { reward_std?: number }).reward_std);
  });

  it.each(['saved', 'OK', '*', '[12.3s]', 'len 200/512', 'lr 1e-06 12.3s', 'at step 3'])(
    'may have a remark behind them: %s',
    async (remark) => {
      const text = [3, 4].map((n) => `step ${n} loss 0.1 reward 0.5 ${remark.replace('3', `${n}`)}\n`);
      const reading = await readText('a.log', text.join(''));
      expect(steps(reading)).toEqual([3, 4]);
      expect(column(reading, 'reward')).toEqual([0.5, 0.5]);
    },
  );

  it.each([
    'Sample: The answer is 5, reward 1.0',
    'Completion 1 reward: 1.0',
    '  sample 2: reward=1.0 len=9',
  ])('of a completion are none of the step above them: %s', async (sample) => {
    const block = (n: number) => `=== Step ${n} ===\nreward: 0.25\n${sample}\nloss: 0.1\n`;
    const reading = await readText('a.log', block(1) + block(2));
    expect(column(reading, 'reward')).toEqual([0.25, 0.25]);
    expect(column(reading, 'loss')).toEqual([0.1, 0.1]);
  });

  it.each([
    ['INFO math-test step', 'reward'],
    ['INFO run.test step', 'reward'],
    ['post-eval step', 'eval_reward'],
    ['test step', 'eval_reward'],
  ])('behind %s are %s', async (words, name) => {
    const reading = await readText(
      'a.log',
      `${words} 1 loss 0.1 reward 0.5\n${words} 2 loss 0.1 reward 0.5\n`,
    );
    expect(column(reading, name)).toEqual([0.5, 0.5]);
  });

  it('have their step under a name in the plural, and no advantage by one letter', async () => {
    for (const name of ['steps', 'global_steps', 'training_steps', 'Iterations']) {
      const reading = await readText(
        'a.jsonl',
        lines([5, 10].map((n) => ({ [name]: n, loss: 0.1, a: 0.7 }))),
      );
      expect(steps(reading)).toEqual([5, 10]);
      expect(column(reading, 'a')).toEqual([0.7, 0.7]);
    }
  });

  it('may have decimals behind commas', async () => {
    const reading = await readText('a.log', 'step 1 loss -0,0012 reward 0,31\nstep 2 loss 1,2 reward 0,35\n');
    expect(column(reading, 'loss')).toEqual([-0.0012, 1.2]);
    expect(column(reading, 'reward')).toEqual([0.31, 0.35]);
  });

  it('are not the numbers of a sentence', async () => {
    const text = 'step 1\nreward 3 of 5 samples was 0\nloss 0.1 reward 0.5\nstep 2 loss 0.2 reward 0.25\n';
    expect(column(await readText('a.log', text), 'reward')).toEqual([0.5, 0.25]);
  });

  it('are those of the trainer and the evaluator where a script names who measured', async () => {
    const rows = [1, 2].map((step) => ({
      step,
      'reward/total_mean': 0.5,
      'learner/grad_norm': step,
      'evaluator/exact_greedy': step / 4,
    }));
    const reading = await readText('a.jsonl', lines(rows));
    expect(column(reading, 'grad_norm')).toEqual([1, 2]);
    expect(column(reading, 'eval_reward')).toEqual([0.25, 0.5]);
  });

  it('behind the word validation are those of an evaluation', async () => {
    const text = [1, 2]
      .map(
        (n) =>
          `step=${n} loss=0.1 reward=0.5 answer=0.25\n09:43:0${n} VALIDATION step=${n} answer_reward=0.${n} acc=0.5\n`,
      )
      .join('');
    const reading = await readText('a.log', text);
    expect(column(reading, 'rewards/answer/mean')).toEqual([0.25, 0.25]);
    expect(column(reading, 'eval_rewards/answer/mean')).toEqual([0.1, 0.2]);
    expect(column(reading, 'eval_reward')).toEqual([0.5, 0.5]);
  });

  it('stand behind the time, and below a line that counts in brackets', async () => {
    const text = [1, 2]
      .map(
        (n) =>
          `09:43:0${n} [  ${n}/60] avg_reward 0.5 cut-off 0.1\n09:43:0${n}           loss 0.2 pg 0.1 kl 3.5\n`,
      )
      .join('');
    const reading = await readText('a.log', text);
    expect(steps(reading)).toEqual([1, 2]);
    expect(reading.series!.entries[0]!.values).toMatchObject({
      reward: 0.5,
      'completions/clipped_ratio': 0.1,
      loss: 0.2,
      policy_loss: 0.1,
      kl: 3.5,
    });
  });

  it('are those of an evaluation where the row says that it is one, and none of settings with a seed', async () => {
    const rows = [
      { what: 'setup', seed: 7, clip: 0.2, lr: 1e-6 },
      { what: 'step', i: 1, score: 0.5 },
      { what: 'exam', i: 1, pass_rate: 0.25 },
      { what: 'test', question: 3 },
      { what: 'step', i: 2, score: 0.75, seed: 7 },
    ];
    const reading = await readText('a.jsonl', lines(rows));
    expect(column(reading, 'reward')).toEqual([0.5, 0.75]);
    expect(column(reading, 'eval_reward')).toEqual([0.25, undefined]);
    expect(column(reading, 'clip_ratio/region_mean')).toEqual([undefined, undefined]);
  });

  it('have the mean, the least and the largest where their name says so', async () => {
    const text = [1, 2]
      .map((n) => `[00${n}/060] step=${n} reward=0.5 ratio(mean/min/max)=0.9/0.8/1.5 kl_old=+0.06 loss=0.1\n`)
      .join('');
    expect((await readText('a.log', text)).series!.entries[0]!.values).toMatchObject({
      'ratio/mean': 0.9,
      'ratio/min': 0.8,
      'ratio/max': 1.5,
      'kl/old': 0.06,
    });
  });

  it('of the first and the last update of a step stand under its number', async () => {
    const rows = [1, 2].map((step) => ({
      step,
      'train/reward_mean': 0.5,
      'policy/u0/ratio_mean': 1,
      'policy/u1/ratio_mean': 1.5,
      'policy/u2/ratio_mean': 1.25,
      'policy/u0/approx_kl': 0,
      'policy/u2/approx_kl': 0.01,
      'policy/u0/grad_norm': 3,
      'policy/u1/grad_norm': 4,
      'policy/u2/grad_norm': 5,
    }));
    expect((await readText('a.jsonl', lines(rows))).series!.entries[0]!.values).toMatchObject({
      'ratio/first': 1,
      'ratio/mean': 1.25,
      'kl/old': 0.01,
      grad_norm: 5,
    });
  });

  it('prefer a raw reward to one that is normalised', async () => {
    const rows = [1, 2].map((step) => ({
      step,
      'rollout/rewards': 1e-9 * step,
      'rollout/raw_reward': step / 4,
    }));
    expect(column(await readText('a.jsonl', lines(rows)), 'reward')).toEqual([0.25, 0.5]);
  });

  it('are shares only up to 1, and completions that ended are the others of those that were cut', async () => {
    const rows = [1, 2].map((it) => ({
      it,
      R: 0.5,
      kl: 0.1,
      dead_groups: 2 * it,
      eos_rate: 1 - it / 4,
      ratio_max: 2,
    }));
    const reading = await readText('a.jsonl', lines(rows));
    expect(steps(reading)).toEqual([1, 2]);
    expect(column(reading, 'reward')).toEqual([0.5, 0.5]);
    expect(column(reading, 'frac_reward_zero_std')).toEqual([undefined, undefined]);
    expect(column(reading, 'completions/clipped_ratio')).toEqual([0.25, 0.5]);
    expect(column(reading, 'ratio/max')).toEqual([2, 2]);
  });

  it.each([
    'flat_reward_group_ratio',
    'zero_variance_group_frac',
    'train/frac_groups_without_reward_spread',
    'pct_of_prompts_with_zero_advantage',
  ])('are of groups without a spread of rewards, in whatever words: %s', async (name) => {
    const rows = [1, 2].map((step) => ({ step, reward: 0.5, [name]: step / 4 }));
    expect(column(await readText('a.jsonl', lines(rows)), 'frac_reward_zero_std')).toEqual([0.25, 0.5]);
  });

  it.each(['flat_group_reward_mean', 'groups_with_zero_reward', 'non_zero_variance_group_frac'])(
    'are of other groups: %s',
    async (name) => {
      const rows = [1, 2].map((step) => ({ step, reward: 0.5, [name]: step / 4 }));
      expect(column(await readText('a.jsonl', lines(rows)), 'frac_reward_zero_std')).toEqual([
        undefined,
        undefined,
      ]);
    },
  );

  it('count groups without a gradient beside all groups', async () => {
    const rows = [1, 2].map((step) => ({
      step,
      reward: 0.5,
      'groups with no gradient': 2 * step,
      num_groups: 8,
    }));
    expect(column(await readText('a.jsonl', lines(rows)), 'frac_reward_zero_std')).toEqual([0.25, 0.5]);
  });

  it('have settings in words between them', async () => {
    const line = (step: number) => `[train] iter=${step} algo=grpo mean_reward=0.${step} loss=0.2 kl=nan\n`;
    const reading = await readText('a.log', line(1) + line(2));
    expect(column(reading, 'reward')).toEqual([0.1, 0.2]);
    expect(column(reading, 'loss')).toEqual([0.2, 0.2]);
    expect(column(reading, 'kl')).toEqual([Number.NaN, Number.NaN]);
  });

  it.each([
    ['dead_groups', 'frac_reward_zero_std', [1, 1], undefined],
    ['mixed_groups', 'frac_reward_zero_std', [1, 1], undefined],
    ['truncated', 'completions/clipped_ratio', [1, 0], undefined],
    ['truncated', 'completions/clipped_ratio', [1, 1], [1, 1]],
    ['clip', 'clip_ratio/region_mean', [0, 1], undefined],
    ['clip_frac', 'clip_ratio/region_mean', [0, 1], [0, 1]],
  ])('are counts where they are 1 at most: %s', async (name, share, values, shares) => {
    const rows = values.map((value, i) => ({ step: i + 1, reward: 0.5, [name]: value }));
    const none = [undefined, undefined];
    expect(column(await readText('a.jsonl', lines(rows)), share)).toEqual(shares ?? none);
    const printed = rows.map(({ step }) => `step ${step} reward 0.50 trunc 1.00\n`).join('');
    expect(column(await readText('a.log', printed), 'completions/clipped_ratio')).toEqual([1, 1]);
  });

  it('may be some of all, below the count of updates', async () => {
    const line = (update: number, some: number) =>
      `[RL] Upd  ${update} | R 0.4120 | informative_groups=${some}/8 | mem=41.2G`;
    const reading = await readText('train.log', [line(40, 6), line(50, 8)].join('\n'));
    expect(steps(reading)).toEqual([40, 50]);
    expect(column(reading, 'reward')).toEqual([0.412, 0.412]);
    expect(column(reading, 'frac_reward_zero_std')).toEqual([0.25, 0]);
  });

  it('are GRPO’s where they are of ratios and advantages, without a reward', async () => {
    const rows = [1, 2].map((step) => ({ 'grpo/step': step, pg_loss: 0.1, ratio_mean: 1 }));
    const reading = await readText('a.jsonl', lines(rows));
    expect(reading.isGrpo).toBe(true);
    expect(steps(reading)).toEqual([1, 2]);
    const other = [1, 2].map((step) => ({ step, loss: 0.1, ratio: 0.5 }));
    expect((await readText('b.jsonl', lines(other))).isGrpo).toBe(false);
  });

  it('are of training below the name of a method, in the plural, and of valid groups', async () => {
    const rows = [1, 2].map((round) => ({
      round,
      'offline_grpo/mean_rewards': 0.5,
      'grpo/lr': 1e-6,
      losses: 0.25,
      'GRPO/Reward Think Length': 0.1,
      valid_group_ratio: round / 4,
      valid_loss: 3,
      'gen/avg_comp_len': 20,
      reward_computation_duration: 9,
    }));
    const reading = await readText('a.jsonl', lines(rows));
    expect(steps(reading)).toEqual([1, 2]);
    expect(reading.series!.entries[0]!.values).toEqual({
      reward: 0.5,
      learning_rate: 1e-6,
      loss: 0.25,
      'rewards/think_length/mean': 0.1,
      frac_reward_zero_std: 0.75,
      eval_loss: 3,
      'completions/mean_length': 20,
      reward_computation_duration: 9,
    });
  });

  it('may be an evaluation’s accuracy, functions of the reward, and settings that never change', async () => {
    const rows = [1, 2].map((step) => ({
      step,
      rew_mean: 0.5,
      r_format: 0.1 * step,
      eval_acc: step / 4,
      updates_per_rollout: 4,
      temperature: step,
      H: 0.25,
    }));
    const { series, declared } = await readText('a.jsonl', lines(rows));
    const { values } = series!.entries[1]!;
    expect(values).toMatchObject({
      reward: 0.5,
      'rewards/format/mean': 0.2,
      eval_reward: 0.5,
      entropy: 0.25,
    });
    expect(declared).toMatchObject({ updatesPerRollout: 4, rollout: {} });
    expect(declared!.rollout!.temperature).toBeUndefined();
  });

  it('stand a line each below the bar of the run, whatever other bars are there', async () => {
    const block = (step: number) =>
      `  1%|1   | ${step}/900 [01:29<67:59, 8s/it]\nMap:  50%|##  | 7/14 [00:00<00:00, 9 examples/s]\nReward Metrics:\n   rewards/format/mean: 0.${step}\n   reward: 0.5\n   reward_std: 0.2\n`;
    const reading = await readText('a.log', block(10) + block(20));
    expect(steps(reading)).toEqual([10, 20]);
    expect(column(reading, 'rewards/format/mean')).toEqual([0.1, 0.2]);
  });

  it('may have remarks of names and numbers behind them', async () => {
    const line = (step: number) =>
      `step ${step} | loss 0.1886 | R +0.${step} (fmt=0.9) | KL 0.0026 (max 2)\n`;
    const reading = await readText('a.log', line(1) + line(2));
    expect(column(reading, 'reward')).toEqual([0.1, 0.2]);
    expect(column(reading, 'kl')).toEqual([0.0026, 0.0026]);
  });

  it('of one step, as of its micro-batches, are averaged metric by metric', async () => {
    const rows = [
      { step: 1, mean_reward: 0, loss_pg: 0.1 },
      { step: 1, mean_reward: 0.5, loss_pg: 0.2, kl: 0.3 },
      { step: 1, mean_reward: 1, loss_pg: Number.MAX_VALUE },
      { step: 2, mean_reward: 0.25, loss_pg: 0.1 },
    ];
    const reading = await readText('a.json', JSON.stringify(rows).replace('1.7976931348623157e+308', 'NaN'));
    expect(column(reading, 'reward')).toEqual([0.5, 0.25]);
    expect(column(reading, 'policy_loss')).toEqual([Number.NaN, 0.1]);
    expect(column(reading, 'kl')).toEqual([0.3, undefined]);
    expect(reading.notes.join()).toContain('2 rows have the step of the row before');
  });

  it('are the length’s own before a number of tokens, whatever word it has for a completion', async () => {
    const rows = [1, 2].map((update) => ({
      update,
      tokens_generated: 900,
      response_length_avg: 30,
      reward: 0.5,
    }));
    expect(column(await readText('a.jsonl', lines(rows)), 'completions/mean_length')).toEqual([30, 30]);
  });

  it('count episodes, and fractions without a name', async () => {
    const episodes = await readText(
      'a.log',
      'Ep 007 | mean_ret=-1.25 | std=0.5 | kl=0.1\nEp 008 | mean_ret=-1.00 | std=0.4 | kl=0.2\n',
    );
    expect(steps(episodes)).toEqual([7, 8]);
    expect(column(episodes, 'reward_std')).toEqual([0.5, 0.4]);
    const fractions = await readText(
      'b.log',
      'Epoch:[1/2](1/9), Reward: 0.5, Actor Loss: 0.1\nEpoch:[1/2](2/9), Reward: 0.6, Actor Loss: 0.2\n',
    );
    expect(steps(fractions)).toEqual([1, 2]);
    expect(column(fractions, 'epoch')).toEqual([1, 1]);
  });

  it.each([
    ['behind a reward', (n: number) => `loss 0.${n} | reward 0.5 (${n * 7}/32) | kl 0.001`],
    [
      'in an evaluation',
      (n: number) => `step ${n} | loss 0.${n} | kl 0.001\nheld-out reward 0.5 (${9 - n}/50) loss 0.1`,
    ],
    ['of rollouts', (n: number) => `rollout (${n % 2}/4) reward 0.3\nstep ${n} | loss 0.${n} | kl 0.001`],
  ])('have fractions that are no steps: %s', async (_, line) => {
    const reading = await readText('a.log', [1, 2, 3, 4].map(line).join('\n'));
    expect(steps(reading)).toEqual([1, 2, 3, 4]);
    expect(column(reading, 'loss')).toEqual([0.1, 0.2, 0.3, 0.4]);
  });

  it('below the line of a step belong to it, lists of rewards by group', async () => {
    const reading = await readText(
      'c.log',
      [
        'Step 1: sampling 2 groups',
        '  Rewards: [1.0, 0.0] (2/2 rendered)',
        '  Rewards: [1.0, 1.0] (2/2 rendered)',
        '  loss = 0.25',
        'Step 2: sampling 1 group',
        '  Rewards: [0.0, 0.0]',
        '  loss = 0.5',
      ].join('\n'),
    );
    expect(column(reading, 'reward')).toEqual([0.75, 0]);
    expect(column(reading, 'frac_reward_zero_std')).toEqual([0.5, 1]);
    expect(column(reading, 'loss')).toEqual([0.25, 0.5]);
  });

  it('may say of each step whether its update was skipped, and the head of the table is no message', async () => {
    const text = 'step,mean_reward,loss,skipped\n1,0.5,0.1,False\n2,1,0,True\n3,1,0,True\n';
    const reading = await readText('run.csv', text);
    expect(column(reading, 'skipped')).toEqual([0, 1, 1]);
    expect(reading.series!.skips).toBeUndefined();
    const told = await readText(
      'run.log',
      "{'loss': 0.1, 'reward': 0.5}\n12:00:01 | WARNING | loop:run:7 - gradient norm too large, skipping update\n",
    );
    expect(told.series!.skips).toMatchObject({ count: 1, line: 2 });
  });

  it('behind a progress bar are those of its step', async () => {
    const bar = (n: number, reward: number) =>
      `train:  ${n}0%|█  | ${n}/10 [00:0${n}<00:09, 1.0it/s, loss=0.1, reward=${reward}]`;
    const reading = await readText('d.log', [1, 2, 3].map((n) => bar(n, n / 10)).join('\r'));
    const copied = await readText('d.log', [1, 2, 3].map((n) => bar(n, n / 10)).join(' '));
    expect(copied.series!.entries.map(({ values }) => values)).toEqual(
      reading.series!.entries.map(({ values }) => values),
    );
    expect(steps(reading)).toEqual([1, 2, 3]);
    expect(column(reading, 'reward')).toEqual([0.1, 0.2, 0.3]);
  });

  it('that a bar paints at the count and again at the numbers are of one step each', async () => {
    const bar = (n: number, reward: number) =>
      `GRPO:  1%|   | ${n}/9 [00:01<00:09, 1.0s/it, loss=0.1, reward=0.${reward}]`;
    const twice = [bar(1, 1), bar(2, 1), bar(2, 2), bar(3, 2), bar(3, 3), bar(4, 3)].join('\r');
    expect(column(await readText('d.log', twice), 'reward')).toEqual([0.1, 0.2, 0.3]);
    const frozen = [bar(1, 1), bar(2, 1), bar(3, 1)].join('\r');
    expect(column(await readText('d.log', frozen), 'reward')).toEqual([0.1, 0.1, 0.1]);
  });

  it('may be the label of a bar', async () => {
    const bar = (n: number) => `loss 0.1 reward 0.${n}:   1%|   | ${n}/9 [00:01<00:09, 1.0s/it]\n`;
    const reading = await readText('d.log', bar(1) + bar(2));
    expect(steps(reading)).toEqual([1, 2]);
    expect(column(reading, 'reward')).toEqual([0.1, 0.2]);
  });

  it.each([
    'Micro step 1/4 loss 9',
    'mini-batch 1/4: loss=9 grad_norm=0.5',
    'minibatch 1/4: loss=9 grad_norm=0.5',
    '[micro 1/4] loss=9 grad_norm=0.5',
    'Saved best model at step 1 (reward: 0.81)',
  ])('are none of another step in %s', async (part) => {
    const block = (n: number) => `Step ${n} loss 0.1 reward 0.5\n${part.replace('step 1 ', `step ${n} `)}\n`;
    const reading = await readText('d.log', block(1) + block(2));
    expect(steps(reading)).toEqual([1, 2]);
    expect(column(reading, 'loss')).toEqual([0.1, 0.1]);
    expect(column(reading, 'reward')).toEqual([0.5, 0.5]);
  });

  it('stand on lines of their own with spaces alone', async () => {
    const block = (n: number) => `Step ${n}/60\n  loss   0.1\n  KL   0.001\n  Entropy 0.9\n`;
    const reading = await readText('d.log', block(1) + block(2));
    expect(column(reading, 'kl')).toEqual([0.001, 0.001]);
    expect(column(reading, 'entropy')).toEqual([0.9, 0.9]);
  });

  it('behind a progress bar are of the step that they tell, and an epoch is none', async () => {
    const bar = (n: number, step: number) =>
      `Epoch 1:   0%|     | ${n}/900 [00:27<28:35, 27.5s/it, loss=0.1, reward=${step / 10}, step=${step}]`;
    const bars = [bar(1, 1), bar(2, 1), bar(2, 2), bar(3, 2), bar(3, 3)];
    // A copy may lose what parts them.
    for (const parting of ['\r', '']) {
      const lines = bars.join(parting);
      const reading = await readText('d.log', `${lines}\n[Epoch 1] Avg Loss: 0.1, Avg Reward: 0.2\n`);
      expect(steps(reading)).toEqual([1, 2, 3]);
      expect(column(reading, 'reward')).toEqual([0.1, 0.2, 0.3]);
    }
  });

  it('are not what says where in the code a line was logged', async () => {
    const at = '2026-01-18 16:32:03.237 | DEBUG    | __main__:accuracy_reward:112 - ';
    const reading = await readText('d.log', [1, 2].map((n) => `${at}step ${n} loss: 0.1\n`).join(''));
    expect(reading.series!.entries[0]!.values).toEqual({ loss: 0.1 });
  });

  it('go on where a bar begins anew', async () => {
    const bar = (n: number) =>
      `Train epoch [1/1]: ${n}0%|█  | ${n}/2 [00:01<00:01, 1s/it, pg=-0.01, ret=0.5, glen=90, kl=0.1]`;
    const reading = await readText('d.log', [1, 2, 1, 2].map(bar).join('\r'));
    expect(steps(reading)).toEqual([1, 2, 3, 4]);
    expect(reading.series!.entries[0]!.values).toMatchObject({
      policy_loss: -0.01,
      reward: 0.5,
      'completions/mean_length': 90,
    });
  });

  it('below a line that tells all are none of its step', async () => {
    const line = (step: number) => `step ${step} | loss 0.1 | reward 0.5\n  reward: 1.0\n`;
    expect(column(await readText('h.log', line(1) + line(2)), 'reward')).toEqual([0.5, 0.5]);
  });

  it('may stand in cells, or below a title', async () => {
    const cells = (step: number) =>
      `step ${step}\n-----\n│ rollout/ep_rew_mean │ 0.${step} │\n│ train/approx_kl │ 1e-3 │\n`;
    expect(column(await readText('f.log', cells(1) + cells(2)), 'reward')).toEqual([0.1, 0.2]);
    const title = (step: number) => `===== Step ${step}/9 =====\n  • Loss: 0.${step}\n  • Avg Reward: 0.5\n`;
    expect(column(await readText('g.log', title(1) + title(2)), 'loss')).toEqual([0.1, 0.2]);
  });

  it('take no other quantity for one of training', async () => {
    const text = 'step 1 | loss 0.1 | best reward: 0.9 | value loss: 3 | prompt_length: 90 | kl_coef: 0.1\n';
    const { values } = (await readText('e.log', text)).series!.entries[0]!;
    expect(Object.keys(values).filter((name) => /^(reward|kl|completions\/mean_length)$/.test(name))).toEqual(
      [],
    );
    expect(values.loss).toBe(0.1);
  });
});

describe('rows of dicts', () => {
  it('may be shortened to a step and some values, without a brace', async () => {
    const step = (n: number) =>
      `rollout ${n}: ... 'rollout/raw_reward': 0.${n + 3},\n   'rollout/version': 1.0\nstep ${n}: {'train/loss': 0.1,\n  'train/grad_norm': 14.5}\n`;
    const reading = await readText('a.log', step(0) + step(1));
    expect(steps(reading)).toEqual([0, 1]);
    expect(column(reading, 'reward')).toEqual([0.3, 0.4]);
    expect(column(reading, 'grad_norm')).toEqual([14.5, 14.5]);
  });

  it.each([
    ['lines', 'step 1 | loss 0.1 | reward 0.3\nstep 2 | loss 0.2 | reward 0.4\n'],
    ['a table', 'step,loss,reward\n1,0.1,0.3\n2,0.2,0.4\n'],
  ])('may be settings above %s', async (_, text) => {
    const reading = await readText('a.log', `{"lr": 1e-6}\n${text}`);
    expect(column(reading, 'reward')).toEqual([0.3, 0.4]);
  });

  it('may go on over several lines, after the step', async () => {
    const row = (step: number) => `Step ${step}: {\n  'loss': 0.${step},\n  'reward': np.float64(0.5)\n}`;
    const reading = await readText('a.log', `begins\n${row(3)}\nbetween\n${row(6)}\n`);
    expect(steps(reading)).toEqual([3, 6]);
    expect(column(reading, 'loss')).toEqual([0.3, 0.6]);
  });

  it('that are cut off have what is whole of them', async () => {
    const row = (loss: number) =>
      `{'loss': ${loss}, 'reward': 0.5, 'kl': 0.01, 'entropy': 1.5, 'grad_norm': 0.75}`;
    const reading = await readText(
      'a.log',
      `${row(0.1)}\n${row(0.2).slice(0, -3)}\n${row(0.3).slice(0, 36)}\n`,
    );
    expect(column(reading, 'loss')).toEqual([0.1, 0.2]);
    expect(column(reading, 'entropy')).toEqual([1.5, 1.5]);
    // More digits may have followed.
    expect(column(reading, 'grad_norm')).toEqual([0.75, undefined]);
    expect(reading.broken.first[0]!.reason).toContain('the first 4 values are read');
    const lines = await readText(
      'a.jsonl',
      '{"loss": 0.1, "reward": 0.5}\n{"loss": 0.2, "reward": 0.5, "k\n',
    );
    expect(column(lines, 'loss')).toEqual([0.1]);
  });

  it('tell no distance by one gap that their numbers do not fit', async () => {
    const at = (...numbers: number[]) =>
      readText('a.log', numbers.map((n) => `{'step': ${n}, 'loss': 0.${n}, 'reward': 0.5}\n`).join(''));
    expect((await at(1, 9)).series!.stepsPerEntry).not.toBe(8);
    expect((await at(10, 20)).series!.stepsPerEntry).toBe((await at(10, 20, 30)).series!.stepsPerEntry);
  });

  it('that every rank prints are counted once', async () => {
    const row = (i: number) => `{'loss': 0.${i}1, 'reward': 0.5, 'epoch': 0.0${i}}\n`;
    const reading = await readText('a.log', [1, 2, 3].map((i) => row(i).repeat(4)).join(''));
    expect(column(reading, 'loss')).toEqual([0.11, 0.21, 0.31]);
    expect(reading.notes.join(' ')).toContain('9 rows repeat the one before');
    // A run in which nothing moves has as many entries as it has rows.
    const dead = await readText('b.log', "{'loss': 0.0, 'reward': 0.25}\n".repeat(5));
    expect(dead.series!.entries).toHaveLength(5);
  });
});

describe('rows of JSON', () => {
  const train = (step: number) => ({ step, loss: 0.1, reward: 0.5 });

  it.each([
    { stage: 'eval' },
    { name: 'eval' },
    { tag: 'validation' },
    { event: 'eval_done' },
    { is_eval: true },
  ])('are of an evaluation where they say so: %j', async (kind) => {
    const rows = [train(1), train(2), { ...kind, step: 2, reward: 0.9 }];
    const reading = await readText('a.jsonl', lines(rows));
    expect(column(reading, 'reward')).toEqual([0.5, 0.5]);
    expect(column(reading, 'eval_reward')).toEqual([undefined, 0.9]);
  });

  it('are of training in a run that is named test', async () => {
    const rows = [1, 2].map((step) => ({ ...train(step), name: 'test' }));
    expect(column(await readText('a.jsonl', lines(rows)), 'reward')).toEqual([0.5, 0.5]);
  });

  it.each([{ type: 'sample' }, { prompt: 'p', completion: 'c' }])(
    'of completions are none of training: %j',
    async (kind) => {
      const rows = [train(1), train(2), { ...kind, step: 2, reward: 0.9 }];
      expect(column(await readText('a.jsonl', lines(rows)), 'reward')).toEqual([0.5, 0.5]);
    },
  );

  it.each<(row: object) => object>([
    (row) => ({ ts: 1, payload: row }),
    (row) => ({ msg: 'done', extra: { metrics: row } }),
    (row) => ({ fields: row }),
    (row) => ({ text: 'step', record: { elapsed: { seconds: 1 }, extra: row } }),
  ])('may be wrapped: %s', async (wrapped) => {
    const reading = await readText('a.jsonl', lines([train(1), train(2)].map(wrapped)));
    expect(steps(reading)).toEqual([1, 2]);
    expect(column(reading, 'reward')).toEqual([0.5, 0.5]);
  });
});

describe('tables', () => {
  it.each([
    [
      'of pandas with a minus',
      '  step  loss  mean_reward    kl\n0   10   0.1          0.5  0.01\n1   20   0.2          0.6 -0.01\n',
    ],
    [
      'of Markdown',
      '| Step | Training Loss | mean_reward |\n|---|---:|---|\n| 10 | 0.1 | 0.5 |\n| 20 | 0.2 | 0.6 |\n',
    ],
    [
      'of pandas',
      '   step  training_loss  mean_reward\n0    10            0.1          0.5\n1    20            0.2          0.6\n',
    ],
    ['of commas after other lines', 'saved\nstep,loss,mean_reward\n10,0.1,0.5\n20,0.2,60%\n'],
    [
      'of lines of a box',
      ' Step │ Training Loss │ mean_reward │ Note\n──────┼──────────┼─────────┼──────\n 10 │ 0.1 │ 0.5 │ 2 of 3 work\n 20 │ ★ 0.2 ★ │ 0.6 │ PEAK\n',
    ],
    [
      'of spans of steps',
      '| Window | loss | mean_reward | reward mean (s) |\n|---|---|---|---|\n| 1–10 | 0.1 | 0.5 | 90 |\n| 11~20 | 0.2 | 0.6 | 80 |\n',
    ],
    [
      'of columns that a line above them names',
      'Per step (step / loss / reward):\n```\n 10  0.1  0.5\n 20  0.2  0.6   <- a lone spike\n```\n',
    ],
    [
      'of several values in a cell',
      '| step | loss / mean_reward |\n|---|---|\n| 10 | 0.1 / 0.5 |\n| 20 | **0.2 / 0.6** |\n',
    ],
  ])('%s are read', async (_, text) => {
    const reading = await readText('t.txt', text);
    expect(steps(reading)).toEqual([10, 20]);
    expect(column(reading, 'loss')).toEqual([0.1, 0.2]);
    expect(column(reading, 'reward')).toEqual([0.5, 0.6]);
  });
});

describe('tables with a metric in each row', () => {
  it.each([
    ['numbers', '| metric | 0 | 10 | 100 |'],
    ['steps', '| 指标 | Step 0 | Step 10 | 100 |'],
    ['remarks', '| 지표 | 초반 (step 0) | **step 10** | @100 (end) |'],
  ])('have their steps as %s in the header', async (_, header) => {
    const text = [
      `${header} Δ | note |`,
      '|---|---|---|---|---|---|',
      '| **loss** | 1 | 2 | ~3 | +2 | rises from 1 |',
      '| actor/entropy_mean (RL 토큰) | 50% | — | 0.1–0.3 | −30% | |',
      '| kl | (step 5: 2.4) | 0.2 | 0.3(@95) | | |',
      '',
      '| metric | before | after | x | Δ | note |',
      '| grad_norm | 7 | 7 | 7 | 7 | 7 |',
    ].join('\n');
    const reading = await readText('notes.md', text);
    expect(steps(reading)).toEqual([0, 10, 100]);
    expect(reading.series!.entries.map(({ values }) => values)).toEqual([
      { loss: 1, entropy: 0.5 },
      { loss: 2, kl: 0.2 },
      { loss: 3, entropy: 0.2, kl: 0.3 },
    ]);
    expect(reading.notes.join()).toContain('such as "(step 5: 2.4)" (line 5)');
  });

  it.each([
    [
      '| 지표 | 초반 | 최근 | 변화 |',
      '| reward | 0.6 | **0.4** | −33% |',
      '| **kl** | 0.003 | 0.24 | +7,900% |',
    ],
    ['| metric | First 100 | Last 100 |', '| reward | 0.6 | 0.4 |', '| kl | 0.003 | 0.24 |'],
    ['| metric | start → end |', '| reward | 0.6 → 0.4 (−33%) |', '| kl | 0.003→0.24，before 0.3 |'],
  ])('may have the parts of a run in its columns, which have no steps: %s', async (head, ...rows) => {
    const reading = await readText('log.md', [head, '|---|---|---|---|', ...rows].join('\n'));
    expect(reading.series).toMatchObject({ isCounted: true });
    expect(column(reading, 'reward')).toEqual([0.6, 0.4]);
    expect(column(reading, 'kl')).toEqual([0.003, 0.24]);
  });

  it('may be several', async () => {
    const table = (metric: string) => `| metric | step 0 | step 9 |\n|---|---|---|\n| ${metric} | 1 | 2 |\n`;
    const reading = await readText('notes.md', `${table('reward')}\n${table('grad_norm')}`);
    expect(column(reading, 'reward')).toEqual([1, 2]);
    expect(column(reading, 'grad_norm')).toEqual([1, 2]);
  });
});

describe('several tables of one run', () => {
  const [first, second] = [
    '| rollout | raw_reward | truncated |\n|---|---|---|\n| 0 | 0.1 | 0.9 |\n| 1 | 0.2 | 0.8 |\n',
    '| step | grad_norm | kl |\n|---|---|---|\n| 0 | 0.3 | 0.0 |\n| 1 | 0.4 | 0.1 |\n',
  ];

  it('are put together by their steps', async () => {
    const reading = await readText('run.md', `${first}\ntraining:\n${second}`);
    expect(reading.runs).toBeUndefined();
    expect(column(reading, 'reward')).toEqual([0.1, 0.2]);
    expect(column(reading, 'completions/clipped_ratio')).toEqual([0.9, 0.8]);
    expect(column(reading, 'grad_norm')).toEqual([0.3, 0.4]);
  });

  it('are runs of their own where a metric has two values at a step', async () => {
    const other = second!.replace('grad_norm | kl', 'grad_norm | raw_reward');
    expect((await readText('run.md', `${first}\n${other}`)).runs).toHaveLength(2);
  });
});

describe('the words of a table’s author', () => {
  it('behind a trainer’s name are none of it', async () => {
    const text =
      '| step | grad_norm | response_length/mean | critic/score/mean (acc) |\n|---|---|---|---|\n| 1 | 0.6 | 69.0 | 0.33 |\n| 2 | 1.1 | 29.5 | 0.48 |\n';
    expect(column(await readText('run.md', text), 'reward')).toEqual([0.33, 0.48]);
  });
});

describe('the cells of a table that someone wrote', () => {
  it('hold their numbers among marks and remarks, ranges, and names in Chinese', async () => {
    const text = [
      '| step | 奖励 | 熵 | 截断比 | grad_norm | kl |',
      '|---|---|---|---|---|---|',
      '| 10 | 0.25 (peak) | **0.5760** | 12.5% | 4.42 | ~0.03 |',
      '| 20 | 0.2→0.1 | 0.4–0.6 | 100% | **7.16** ⚠️ | 0.04 |',
      '| 30 | 0.1 | 0.7 | 1.00 | 0.000 | 0.05* |',
    ].join('\n');
    const reading = await readText('notes.md', text);
    expect(column(reading, 'reward')).toEqual([0.25, 0.1, 0.1]);
    expect(column(reading, 'entropy')).toEqual([0.576, 0.5, 0.7]);
    expect(column(reading, 'completions/clipped_ratio')).toEqual([0.125, 1, 1]);
    expect(column(reading, 'grad_norm')).toEqual([4.42, 7.16, 0]);
    expect(column(reading, 'kl')).toEqual([0.03, 0.04, 0.05]);
    expect(reading.series!.decimals).toMatchObject({ grad_norm: 3 });
  });

  it('may be numbers and ranges among words, and thousands; the last phase goes on', async () => {
    const text = [
      '| 阶段 | step | reward | entropy | mean_len |',
      '|---|---|---|---|---|',
      '| 学习 | 1-100 | 0.06→0.25 | 降到0.4-0.5 | 1.2k |',
      '| 爆炸 | 100-200 | fell to 0.15 | spike到1.5-2.5 | 3-5k |',
      '| 崩溃 | 200+ | 0.09-0.14 | 1-3持续高位 | 5分 |',
    ].join('\n');
    const reading = await readText('phases.md', text);
    expect(steps(reading)).toEqual([100, 200, 201]);
    expect(column(reading, 'reward')).toEqual([0.25, 0.15, 0.115]);
    expect(column(reading, 'entropy')).toEqual([0.45, 2, 2]);
    expect(column(reading, 'completions/mean_length')).toEqual([1200, 4000, undefined]);
    expect(reading.notes.join()).toContain('such as "5分" (line 5)');
  });

  it('are no means where a remark says that they are extremes', async () => {
    const text =
      '| step | reward | completion length | length max |\n|---|---|---|---|\n| 1 | 0.5 | 812 | 9044 (max) |\n| 2 | 0.6 | 9044 (max) | 9050 |\n';
    const reading = await readText('notes.md', text);
    expect(column(reading, 'completions/mean_length')).toEqual([812, undefined]);
    expect(column(reading, 'length max')).toEqual([9044, 9050]);
    expect(reading.notes.join()).toContain(
      '1 cell of metrics could not be read, such as "9044 (max)" (line 4)',
    );
  });

  it('may be ranges of per cent, and what is none is told', async () => {
    const text =
      '| step | score | note |\n|---|---|---|\n| 1 | 65-69% | a 1 |\n| 2 | 7 of 9 | - |\n| 3 | 50% | |\n';
    const reading = await readText('notes.md', text);
    expect(column(reading, 'reward')).toEqual([0.67, 0.5]);
    expect(reading.notes.join()).toContain('1 cell of metrics could not be read, such as "7 of 9" (line 4)');
  });

  it('may be shares, and a column of which none could be read is named', async () => {
    const text =
      '| step | reward | truncated | mean_len | d8 | note |\n|---|---|---|---|---|---|\n| 1 | 3 / 4 | **70 / 140 (50%)** | 1.2M | 0.3 / 0.5 | a 1 |\n| 2 | 1 | 0/140 | 2M | 0.4 / 0.6 | b 2 |\n';
    const reading = await readText('notes.md', text);
    expect(column(reading, 'reward')).toEqual([0.75, 1]);
    expect(column(reading, 'completions/clipped_ratio')).toEqual([0.5, 0]);
    expect(reading.notes.join()).toContain(
      '4 cells of metrics could not be read, such as "1.2M" (line 3); none could of "mean_len", "d8".',
    );
  });

  it.each([
    ['Resp Len', 'Clip Ratio', '0.4', undefined, 0.4],
    ['Resp Len', 'Clip Ratio', '0.2', 0.2, undefined],
    ['entropy', 'Clip Ratio', '0.4', 0.4, undefined],
    ['entropy', 'clipped', '0.6', undefined, 0.6],
    ['entropy', 'clipfrac', '0.6', 0.6, undefined],
  ])(
    'may have a clip ratio: of completions where it is large, beside %s %s %s',
    async (other, name, cell, ppo, cut) => {
      const text = `| step | reward | ${other} | ${name} |\n|---|---|---|---|\n| 1 | 0.5 | 90 | ${cell} |\n`;
      const reading = await readText('notes.md', text);
      expect(column(reading, 'clip_ratio/region_mean')).toEqual([ppo]);
      expect(column(reading, 'completions/clipped_ratio')).toEqual([cut]);
    },
  );

  it('may have an accuracy as the only reward, and none beside a loss alone', async () => {
    const text = (other: string) =>
      `| step | acc | ${other} | entropy |\n|---|---|---|---|\n| 1 | 0.5 | −0.1 | 1 |\n| 2 | 0.75 | 0.1 | 1 |\n`;
    expect(column(await readText('a.md', text('adv')), 'reward')).toEqual([0.5, 0.75]);
    expect(column(await readText('a.md', text('adv')), 'advantages/mean')).toEqual([-0.1, 0.1]);
    expect((await readText('b.md', text('loss'))).isGrpo).toBe(false);
  });

  it('may be of a validation, in a second half, beside a table of training', async () => {
    const text =
      '| Step | Val Acc | Step | Val Acc |\n|---|---|---|---|\n| 1 | 0.5 | 3 | 0.7 |\n| 2 | **0.6** (peak) | | |\n\n| Step | Score |\n|---|---|\n| 1 | 0.1 |\n| 3 | 0.3 |\n';
    const reading = await readText('notes.md', text);
    expect(column(reading, 'eval_reward')).toEqual([0.5, 0.6, 0.7]);
    expect(column(reading, 'reward')).toEqual([0.1, undefined, 0.3]);
  });

  it('may stand behind a step and the letter of a run, with no bar between', async () => {
    const text =
      'step | reward/total | entropy\n 0 A:  0.5 | 0.4\n 0 B:  0.1 | 0.3\n 1 A:  0.6 | 0.2\n 1 B:  0.2 | 0.1\n 2-4 both: 1 | 0\n';
    const reading = await readText('notes.txt', text);
    const [a, b] = await Promise.all(reading.runs!.map(({ read }) => read()));
    expect([a, b].map((run) => column(run!, 'reward'))).toEqual([
      [0.5, 0.6],
      [0.1, 0.2],
    ]);
  });

  it('may go on in a second half of the same columns', async () => {
    const text = '| Step | KL | Step | KL |\n|---|---|---|---|\n| 0 | 0.1 | 2 | 0.3 |\n| 1 | 0.2 | | |\n';
    const reading = await readText('notes.md', text);
    expect(steps(reading)).toEqual([0, 1, 2]);
    expect(column(reading, 'kl')).toEqual([0.1, 0.2, 0.3]);
  });

  it('may say that a row is of an evaluation', async () => {
    const text =
      '| Step | reward |\n|---|---|\n| 0 (val) | 0.1 |\n| 1 | 0.2 |\n| 2 | 0.3 |\n| 2 (val) | 0.4 |\n';
    const reading = await readText('notes.md', text);
    expect(column(reading, 'reward').filter((value) => value !== undefined)).toEqual([0.2, 0.3]);
    expect(column(reading, 'eval_reward').filter((value) => value !== undefined)).toEqual([0.1, 0.4]);
  });
});

describe('a table with semicolons', () => {
  it('has its decimals behind commas', async () => {
    const reading = await readText('t.csv', 'step;reward;kl\n1;0,110;6,000\n2;0,125;0,0084\n');
    expect(column(reading, 'reward')).toEqual([0.11, 0.125]);
    expect(column(reading, 'kl')).toEqual([6, 0.0084]);
  });
});

describe('a table in Markdown', () => {
  it('may count in a column named by a sign', async () => {
    const text =
      '| # | ret | KLref | val |\n|---|---|---|---|\n| 0 | 0.1 | 0.0 | 0.06 |\n| 1 | 0.2 | 0.1 |  |\n';
    const reading = await readText('run.md', text);
    expect(steps(reading)).toEqual([0, 1]);
    expect(column(reading, 'reward')).toEqual([0.1, 0.2]);
    expect(column(reading, 'kl')).toEqual([0, 0.1]);
    // Elsewhere it is a loss.
    expect(column(reading, 'val')).toEqual([0.06, undefined]);
  });
});

describe('a table with a metric per line', () => {
  it.each(['\t', ',', ' ; '])('has an entry per step, with %j between', async (between) => {
    const rows = [0, 1].flatMap((step) => [
      [step, 'reward', 0.5 + step / 4],
      [step, 'length', 6],
      [step, 'rollout_vs_trainer_logp_abs', 0.01],
    ]);
    const reading = await readText(
      'm.tsv',
      ['step,metric,value'.replaceAll(',', between), ...rows.map((cells) => cells.join(between))].join('\n'),
    );
    expect(reading.kind).toBe('table with a metric per line');
    expect(steps(reading)).toEqual([0, 1]);
    expect(column(reading, 'reward')).toEqual([0.5, 0.75]);
    expect(column(reading, 'completions/mean_length')).toEqual([6, 6]);
    expect(column(reading, 'sampling/sampling_logp_difference/mean')).toEqual([0.01, 0.01]);
  });
});

describe('a Markdown table with a metric per line', () => {
  it('has a run for each column of values', async () => {
    const row = (step: number, name: string, ...values: string[]) =>
      `| ${[step, name, ...values].join(' | ')} |`;
    const reading = await readText(
      'm.md',
      [
        '| step | metric | plain | clip-higher |',
        '|---|---|---|---|',
        row(10, 'reward', '0.31', '0.30'),
        row(10, 'entropy', '0.96', '1.00'),
        row(20, 'reward', '0.35', '**0.36**'),
        row(20, 'entropy', '1.04', '4.92 ⚠️'),
      ].join('\n'),
    );
    const [plain, higher] = await Promise.all(reading.runs!.map(({ read }) => read()));
    expect(steps(plain!)).toEqual([10, 20]);
    expect(column(plain!, 'entropy')).toEqual([0.96, 1.04]);
    expect(column(higher!, 'entropy')).toEqual([1, 4.92]);
    expect(column(higher!, 'reward')).toEqual([0.3, 0.36]);
  });
});

describe('a table with heads in another language', () => {
  it.each([
    ['Paso', 'Recompensa media (GB/s)', 'Norma de gradiente (train)', 'Entropía'],
    ['Étape', 'Récompense moyenne', 'Norme du gradient', 'Entropie'],
    ['Schritt', 'Mittlere Belohnung', 'Gradientennorm', 'Entropie'],
    ['ステップ', '平均報酬', '勾配ノルム', 'エントロピー'],
    ['단계', '평균 보상', '기울기 노름', '엔트로피'],
  ])('such as %s | %s', async (...heads) => {
    const rows = [heads, ['---', '---', '---', '---'], [1, 0.25, 3, 0.5], [2, 0.5, 4, 0.25]];
    const reading = await readText('f.md', rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
    expect(steps(reading)).toEqual([1, 2]);
    expect(column(reading, 'reward')).toEqual([0.25, 0.5]);
    expect(column(reading, 'grad_norm')).toEqual([3, 4]);
    expect(column(reading, 'entropy')).toEqual([0.5, 0.25]);
  });
});

describe('a row of a table with a remark behind its last bar', () => {
  it('has its cells where they are', async () => {
    const reading = await readText(
      'r.md',
      '| step | response_length | reward |\n|---|---|---|\n| 4 | 949 | 0.40 |\n| 44 | 5821 | 0.80 |  ← the peak\n| 52 | 6656 | 0.73 |\n',
    );
    expect(steps(reading)).toEqual([4, 44, 52]);
    expect(column(reading, 'completions/mean_length')).toEqual([949, 5821, 6656]);
  });
});

describe('a single reward function', () => {
  it('is the reward where a log has no other', async () => {
    const reading = await readText('o.log', "{'loss': 0.1, 'rewards/reward_fn/mean': 0.5, 'kl': 0.1}\n");
    expect(column(reading, 'reward')).toEqual([0.5]);
    const two = await readText('t.log', "{'loss': 0.1, 'rewards/a/mean': 0.5, 'rewards/b/mean': 0.25}\n");
    expect(column(two, 'reward')).toEqual([undefined]);
  });
});

describe('a dict that a terminal has broken', () => {
  it('is whole, also where the break is within a name or a number', async () => {
    const dict = (reward: number) =>
      `{'loss': 0.0578, 'grad_norm': 5.026931285858154, 'completions/mean_length': 212.6875, 'reward': ${reward}, 'kl': 0.25}`;
    const broken = (text: string) => text.replace(/(.{44})(?=.)/g, '$1\n');
    const reading = await readText(
      'w.txt',
      `  5%|██ | 1/20 ${'\n'}${broken(dict(0.125))}\n${broken(dict(0.5))}\n`,
    );
    expect(reading.broken.count).toBe(0);
    expect(column(reading, 'reward')).toEqual([0.125, 0.5]);
    expect(column(reading, 'grad_norm')).toEqual([5.026931285858154, 5.026931285858154]);
  });
});

describe('the last row of a file of rows', () => {
  const row = (step: number) =>
    JSON.stringify({ step, loss: 0.1, reward: 0.5, kl: step / 8, grad_norm: 1, entropy: 0.25, epoch: 0.5 });

  it('has what is whole of it where it is cut off', async () => {
    const reading = await readText('r.jsonl', `${row(1)}\n${row(2).slice(0, -9)}`);
    expect(reading.broken.count).toBe(1);
    expect(reading.broken.first[0]!.reason).toContain('the first 6 values are read');
    expect(column(reading, 'kl')).toEqual([0.125, 0.25]);
  });

  it('is the only one of which a part is read', async () => {
    const reading = await readText('r.jsonl', `${row(1)}\n${row(2).slice(0, -9)}\n${row(3)}\n`);
    expect(column(reading, 'kl')).toEqual([0.125, 0.375]);
    expect(reading.broken.first[0]!.reason).toMatch(/^not a whole row: /);
  });
});

describe('a table of spans', () => {
  it('may end with one that is open, and have a KL alone', async () => {
    const reading = await readText(
      's.md',
      '| train_step 段 | mean KL |\n|---|---|\n| 0–50 | 0.29 |\n| 50–200 | 2.78 |\n| **200–末** | **65.1** |\n',
    );
    expect(steps(reading)).toEqual([50, 200, 201]);
    expect(column(reading, 'kl')).toEqual([0.29, 2.78, 65.1]);
  });
});

describe('a table of names and final values', () => {
  it('has remarks and units behind numbers, and brackets behind names', async () => {
    const reading = await readText(
      'f.md',
      '| Metric | Final | Note |\n|---|---|---|\n| Reward (mean) | 0.9375 | near the top |\n| KL Divergence | 0.00045 | small |\n| Completion Mean Length | 999 tokens | stable |\n| entropy | 0.3 (min=0.1, max=0.5) | |\n',
    );
    expect(reading.series!.entries[0]!.values).toMatchObject({
      reward: 0.9375,
      kl: 0.00045,
      'completions/mean_length': 999,
      entropy: 0.3,
    });
  });
});

describe('rows with a flag of a skipped update', () => {
  it('have it as a number', async () => {
    const reading = await readText(
      'r.jsonl',
      '{"step": 1, "mean_reward": 0.0, "skipped": true}\n{"step": 2, "mean_reward": 0.5, "skipped": false}\n',
    );
    expect(column(reading, 'skipped')).toEqual([1, 0]);
  });
});

describe('a table with commas', () => {
  it('may have other signs in its cells, and a comma at the end of its lines', async () => {
    const reading = await readText(
      't.csv',
      'update,reward_mean,value_loss,kl_reason,grad_norm\n1,0.25,,beta=0.0; no KL,0.5\n2,0.5,,beta=0.0; no KL,0.25,\n',
    );
    expect(reading).toMatchObject({ isGrpo: true, broken: { count: 0 } });
    expect(steps(reading)).toEqual([1, 2]);
    expect(column(reading, 'reward')).toEqual([0.25, 0.5]);
    expect(column(reading, 'grad_norm')).toEqual([0.5, 0.25]);
  });
});

describe('a table whose rows begin with an empty cell', () => {
  it.each([',', ';', '\t'])('has all their cells, with %j between them', async (delimiter) => {
    const rows = ['loss,reward,step,eval_reward', '0.1,0.25,1,', ',,1,0.75', '0.2,0.5,2,'];
    const reading = await readText('t.csv', `${rows.join('\n').replaceAll(',', delimiter)}\n`);
    expect(reading).toMatchObject({ broken: { count: 0 } });
    expect(column(reading, 'reward')).toEqual([0.25, 0.5]);
    expect(column(reading, 'eval_reward')).toContain(0.75);
  });
});

describe('the table of W&B’s page', () => {
  it('has a column per run, and its extremes', async () => {
    const header =
      '"Step","a-1 - train/reward","a-1 - train/reward__MIN","b-2 - train/reward","b-2 - train/reward__MIN"';
    const reading = await readText(
      'w.csv',
      `${header}\n"1","0.5","0.4","0.1","0"\n"2","0.6","0.5","",""\n"3","0.7","0.6","0.3","0"\n`,
    );
    expect(reading.runs).toHaveLength(2);
    const [first, second] = await Promise.all(reading.runs!.map(({ read }) => read()));
    expect(column(first!, 'reward')).toEqual([0.5, 0.6, 0.7]);
    expect(steps(second!)).toEqual([1, 3]);
  });
});

describe('tables without a step', () => {
  it('count by a first column that has another name', async () => {
    const text = '| N | raw_reward | truncated |\n|---|---|---|\n| 0 | 0.05 | 0 |\n| 1 | 0.04 | 0.5 |\n';
    const reading = await readText('a.md', text);
    expect(steps(reading)).toEqual([0, 1]);
    expect(column(reading, 'reward')).toEqual([0.05, 0.04]);
  });

  it('count by the last step of a phase, of a metric in code marks', async () => {
    const text = [
      '| Phase | Typical `gen_kl_error` | Range |',
      '|---|---|---|',
      '| Steps 1–20 (early) | ~0.45 | 0.32 – 0.64 |',
      '| Steps 21–40 (mid) | ~0.30 | 0.16 – 1.75 |',
    ].join('\n');
    const reading = await readText('a.md', text);
    expect(steps(reading)).toEqual([20, 40]);
    expect(column(reading, 'sampling/kl')).toEqual([0.45, 0.3]);
  });

  it('are none of training where rows are named', async () => {
    const text = '| Model | reward | KL |\n|---|---|---|\n| base | 0.1 | 0 |\n| tuned | 0.5 | 0.1 |\n';
    await expect(readText('a.md', text)).rejects.toThrow('none of its 4 lines');
  });

  it('are read where the user names a column', async () => {
    nameMetrics(new Map([['reward', 'Bare method']]));
    onTestFinished(() => nameMetrics(new Map()));
    const text = '| Part (steps) | Bare method |\n|---|---|\n| 10 | 39 |\n| 20 | 15 |\n';
    expect(column(await readText('a.md', text), 'reward')).toEqual([39, 15]);
  });
});

describe('a table with a metric per line', () => {
  it('has its values in the column of the mean, or the last', async () => {
    const text = [
      '| Metric | Updates | Min | Mean | Final step |',
      '|---|---|---|---|---|',
      '| rollout/raw_reward | 20 | 0 | 0.0625 | 19 |',
      '| rollout/truncated | 20 | 0 | **27.1%** | 19 |',
    ].join('\n');
    const reading = await readText('a.md', text);
    expect(column(reading, 'reward')).toEqual([0.0625]);
    expect(column(reading, 'completions/clipped_ratio')).toEqual([0.271]);
  });

  it('keeps what stands in other columns where none is told', async () => {
    const reading = await readText('a.md', '| reward | 0.5 | kl | 0.01 |\n');
    expect(column(reading, 'kl')).toEqual([0.01]);
  });
});

it('groups that none or all of their completions solve are flat, and the signal of a teacher is no KL', async () => {
  const table =
    '| Step | Score | Solve None | Solve Partial | Solve All |\n|-|-|-|-|-|\n| 1 | 0.1 | 10 | 4 | 2 |\n';
  expect(column(await readText('a.md', table), 'frac_reward_zero_std')).toEqual([0.75]);
  const row = { step: 1, 'critic/score/mean': 0.5, 'actor/token_kl/mean': -0.3 };
  expect(column(await readText('a.jsonl', lines([row, { ...row, step: 2 }])), 'kl')).toEqual([
    undefined,
    undefined,
  ]);
});

it('the end of a dict is read whose beginning was left out', async () => {
  const whole = "{'loss': 0.1, 'reward': 0.5, 'kl': 0.01}";
  const reading = await readText('a.log', `'reward_std': 0.2, 'reward': 0.25, 'kl': 0.02}\n${whole}\n`);
  expect(column(reading, 'reward')).toEqual([0.25, 0.5]);
  expect(column(reading, 'loss')).toEqual([undefined, 0.1]);
});

it('extremes of the rewards are no functions, and advantages that are all 0 give no signal', async () => {
  const table = '| step | reward/mean | rewards/max | rewards/min |\n|-|-|-|-|\n| 1 | 0.1 | 2 | 0 |\n';
  const names = Object.keys((await readText('a.md', table)).series!.entries[0]!.values);
  expect(names.filter((name) => name.endsWith('/mean') && name !== 'reward/mean')).toEqual([]);
  const row = { step: 1, 'ppo_actor/advantages/avg': 0, 'ppo_actor/advantages/max': 0, 'ppo_actor/lr': 1 };
  const reading = await readText('a.jsonl', lines([row, { ...row, step: 2 }]));
  expect(column(reading, 'advantages/all_zero')).toEqual([1, 1]);
});

describe('a file of several runs', () => {
  const run = (count: number, reward: number) =>
    Array.from({ length: count }, (_, i) => ({ step: i + 1, loss: 0.1, reward: reward + i }));

  it('is of other training where one run shows it, and no other shows groups', async () => {
    const rowsOf = (more: object) =>
      [1, 2, 3].map((iteration) => ({ iteration, 'reward/mean': iteration / 4, ...more }));
    const parts = async (second: object) => {
      const { runs } = await readText('a.jsonl', lines([...rowsOf({ value_loss: 0.5 }), ...rowsOf(second)]));
      return Promise.all(runs!.map(async ({ read }) => (await read()).isGrpo));
    };
    expect(await parts({})).toEqual([false, false]);
    expect(await parts({ kl: 0.1, reward_std: 0.2 })).toEqual([false, true]);
  });

  it('names the metrics that may be GRPO’s of each run alone', async () => {
    const [one, other] = ['loss', 'reward'].map((name) =>
      lines([1, 2].map((step) => ({ step, [name]: 0.1 }))),
    );
    const reading = await readText('a.jsonl', one! + other);
    const [first] = await Promise.all(reading.runs!.map(({ read }) => read()));
    expect(first!.notes.join()).toContain('looks like supervised training');
  });

  it('is split where the steps begin anew', async () => {
    const reading = await readText('m.jsonl', lines([...run(3, 0), ...run(4, 10)]));
    expect(reading.series).toBeUndefined();
    expect(reading.runs!.map(({ name }) => name)).toEqual([
      'run 1 of 2, lines 1 to 3',
      'run 2 of 2, lines 4 to 7',
    ]);
    expect(column(await reading.runs![1]!.read(), 'reward')).toEqual([10, 11, 12, 13]);
  });

  it('is split where the epoch does, and after the sum of a run', async () => {
    const row = (epoch: number) => `{'loss': 0.1${epoch * 10}, 'reward': 0.5, 'epoch': ${epoch}}\n`;
    const epochs = await readText('a.log', [0.1, 0.2, 0.3, 0.1, 0.2].map(row).join(''));
    expect(epochs.runs).toHaveLength(2);
    const summed = `${row(0.1)}{'train_runtime': 1.0, 'train_loss': 0.1}\n${row(0.2)}`;
    expect((await readText('b.log', summed)).runs).toHaveLength(2);
  });

  it('has the spread of rewards that its rows list, and their mean where it lacks', async () => {
    const rows = [
      { step: 1, rewards: [0, 1, 1, 0] },
      { step: 2, rewards: [0.1, 0.1], skipped: true },
      { step: 3, rewards: [0.1, null], kl: 0 },
    ];
    const reading = await readText('m.jsonl', lines(rows));
    expect(column(reading, 'reward')).toEqual([0.5, 0.1, undefined]);
    expect(column(reading, 'reward_std')).toEqual([Math.sqrt(1 / 3), 0, undefined]);
    const named = await readText('n.jsonl', lines(rows.map((row) => ({ ...row, mean_reward: 0.3 }))));
    expect(column(named, 'reward')).toEqual([0.3, 0.3, 0.3]);
  });

  it('has no reward in the time that one took', async () => {
    const row = 'step:1 - critic/score/mean:0.5 - timing_s/reward:1.04 - actor/pg_loss:0.1';
    const [entry] = (await readText('v.log', row)).series!.entries;
    expect(Object.keys(entry!.values)).not.toContain('rewards/timing_s/mean');
    expect(entry!.values.reward).toBe(0.5);
  });

  it('has no metric by a name whose value is null', async () => {
    const rows = [1, 2, 3].map((step) => ({ step, reward: step / 4, kl: 0.1, value_loss: null }));
    expect((await readText('m.jsonl', lines(rows))).isGrpo).toBe(true);
  });

  it('is one where each epoch counts its own steps', async () => {
    const rows = [1, 2].flatMap((epoch) =>
      [1, 2, 3].map((step) => ({ epoch, step, loss: 0.1, reward: 0.5 })),
    );
    const reading = await readText('m.jsonl', lines(rows));
    expect(steps(reading)).toEqual([1, 2, 3, 4, 5, 6]);
    const fromZero = rows.map((row) => ({ ...row, epoch: row.epoch - 1, step: row.step - 1 }));
    expect(steps(await readText('n.jsonl', lines(fromZero)))).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

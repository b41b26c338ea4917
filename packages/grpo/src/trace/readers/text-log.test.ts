import { describe, expect, it } from 'vitest';
import { column, lines, readText, steps } from './files.test.helper.js';

const trlLine = (reward: string, more = '') =>
  `{'loss': 0.0012, 'grad_norm': 0.41, 'learning_rate': 9e-07, 'num_tokens': 812.0, 'completions/mean_length': 31.5, 'completions/clipped_ratio': 0.25, 'rewards/right/mean': ${reward}, 'rewards/right/std': 0.5, 'reward': ${reward}, 'reward_std': 0.35, 'frac_reward_zero_std': 0.5, ${more}'epoch': 0.02}`;

describe('a log with lines of dicts', () => {
  it('is read whatever stands around them', async () => {
    const reading = await readText(
      'train.log',
      [
        'Loading weights: 100%|##########| 4/4 [00:01<00:00, 3.0it/s]',
        '  0%|          | 0/40 [00:00<?, ?it/s]\r 25%|##5       | 10/40 [00:11<00:33, 1.1s/it]\r',
        `\u001b[32m${trlLine('0.5')}\u001b[0m`,
        ` 50%|#####     | 20/40 [00:22<00:22, 1.1s/it]   \r  ${trlLine('nan', "'kl': inf, 'entropy': None, ")} 50%|#####     | 20/40`,
        " 75%|#######5  | 30/40 [00:33<00:11, 1.1s/it]{'loss': '0', 'grad_norm': '0.2', 'reward': '0.75', 'reward_std': '0', 'num_tokens': '9'} {'eval_loss': 0.5, 'eval_reward': 0.6}",
        "{'train_runtime': 44.1, 'train_loss': 0.0008, 'epoch': 0.08}",
        "{'loss': 0.0031, 'grad_norm': 0.3, 'learni",
        "TrainingArguments: {'learning_rate': 1e-06, 'beta': 0.0, 'entropy_coef': 0.1}",
      ].join('\n'),
    );
    expect(reading.kind).toBe('TRL log');
    // By the progress bars, since the dicts have no step.
    expect(steps(reading)).toEqual([10, 20, 30]);
    expect(reading.series!.stepsPerEntry).toBe(10);
    expect(column(reading, 'reward')).toEqual([0.5, Number.NaN, 0.75]);
    expect(column(reading, 'kl')).toEqual([undefined, Number.POSITIVE_INFINITY, undefined]);
    expect(column(reading, 'entropy')).toEqual([undefined, undefined, undefined]);
    expect(column(reading, 'loss')).toEqual([0.0012, 0.0012, 0]);
    expect(column(reading, 'eval_reward')).toEqual([undefined, undefined, 0.6]);
    expect(reading.broken.count).toBe(1);
    expect(reading.broken.first[0]).toMatchObject({ line: 7 });
    expect(reading.series!.entries[1]!.line).toBe(4);
  });

  it('without bars or steps has its entries counted, and nothing said of each step', async () => {
    const reading = await readText('log', `${trlLine('0.1')}\n${trlLine('0.2')}\n${trlLine('0.3')}\n`);
    expect(steps(reading)).toEqual([1, 2, 3]);
    expect(reading.series!.stepsPerEntry).toBeUndefined();
    expect(reading.notes.join(' ')).toMatch(/no step numbers.*how many steps/);
  });

  it('does not trust bars that stand still', async () => {
    const bar = ' 25%|##5       | 10/40 [00:11<00:33, 1.1s/it]\n';
    const reading = await readText('log', bar + trlLine('0.1') + bar + trlLine('0.2'));
    expect(steps(reading)).toEqual([1, 2]);
  });

  it('of supervised training has no GRPO signals', async () => {
    const row =
      "{'loss': 1.3, 'grad_norm': 2.1, 'learning_rate': 2e-05, 'mean_token_accuracy': 0.7, 'epoch': 0.1}\n";
    const reading = await readText('sft.log', row.repeat(3));
    expect(reading).toMatchObject({ kind: 'transformers log', isGrpo: false });
    expect(reading.notes).toEqual([expect.stringContaining('No GRPO signals here')]);
    const pairs = "{'loss': 0.6, 'rewards/chosen': 0.1, 'rewards/rejected': -0.1, 'epoch': 0.1}\n";
    expect((await readText('dpo.log', pairs)).isGrpo).toBe(false);
  });

  it('of DeepSpeed-Chat is of PPO', async () => {
    const steps = [1, 2].map(
      (step) => `epoch: 0|step: ${step}|act_loss: 0.02|cri_loss: 0.2\naverage reward score: 0.2`,
    );
    const { notes, isGrpo } = await readText('chat.log', steps.join('\n'));
    expect(isGrpo).toBe(false);
    expect(notes).toEqual([expect.stringContaining('PPO with a value function')]);
    const row = (step: number, loss: string) =>
      `epoch: 0|step: ${step}|act_loss: ${loss}|cri_loss: 0.2|unsuper_loss: 0.0`;
    const whole = await readText('chat.log', [row(1, '0.5'), row(2, 'inf')].join('\n'));
    expect(whole).toMatchObject({ isGrpo: true, series: { hasCritic: true } });
    // Another scale tells nothing; a number that is none does.
    expect(column(whole, 'loss')).toEqual([undefined, Number.POSITIVE_INFINITY]);
  });

  it('may sum up many steps, of which the means count', async () => {
    const text = ['reward: mean=0.5 min=0.1 max=0.9', '- actor/kl_loss: mean=0.02 min=0 max=0.04'].join('\n');
    const { series } = await readText('summary.md', text);
    expect(series!.entries.map(({ values }) => values)).toEqual([{ reward: 0.5, kl: 0.02 }]);
  });

  it('of PPO of a language model keeps what means the same there', async () => {
    const row = (step: number) =>
      `step:${step} - critic/vf_loss:0.04 - critic/kl:0.7 - critic/rewards/mean:0.13 - actor/entropy_loss:0.005 - actor/pg_loss:0.01 - response_length/mean:34.7`;
    const { isGrpo, series, notes } = await readText('ppo.log', [1, 2, 3].map(row).join('\n'));
    expect(isGrpo).toBe(true);
    expect(Object.keys(series!.entries[0]!.values).filter((name) => /^(kl|policy_loss)$/.test(name))).toEqual(
      [],
    );
    expect(series!.entries[0]!.values).toMatchObject({ reward: 0.13, entropy: 0.005 });
    expect(notes[0]).toContain(
      'only rewards, lengths, entropy, the gradient norm and the KL to the old policy',
    );
  });

  it('knows the names of old versions', async () => {
    const old =
      "{'loss': 0.0, 'completion_length': 88.0, 'rewards/format': 0.0, 'reward': 0.2, 'reward_std': 0.1, 'kl': 0.003}";
    const reading = await readText('old.log', old);
    expect(column(reading, 'completions/mean_length')).toEqual([88]);
    expect(column(reading, 'rewards/format/mean')).toEqual([0]);
  });

  it('that a run was resumed in counts the steps done again once', async () => {
    const row = (step: number, reward: number) => `{'step': ${step}, 'loss': 0.1, 'reward': ${reward}}\n`;
    const text =
      [1, 2, 3, 4, 5].map((step) => row(step, 0)).join('') + [3, 4].map((step) => row(step, 1)).join('');
    const reading = await readText('log', text);
    expect(steps(reading)).toEqual([1, 2, 3, 4]);
    expect(column(reading, 'reward')).toEqual([0, 0, 1, 1]);
    expect(reading.notes.join(' ')).toContain('go back from 5 to 3 (line 6)');
  });
});

describe('JSON Lines of metrics', () => {
  it('of ms-swift have the step in a fraction', async () => {
    const row = (step: number) => ({
      loss: 0.01,
      grad_norm: 0.5,
      reward: 0.3,
      reward_std: 0.2,
      'completions/mean_length': 100,
      'global_step/max_steps': `${step}/500`,
      percentage: '2.40%',
      'memory(GiB)': 40.1,
    });
    const reading = await readText('logging.jsonl', lines([row(6), row(12), row(18)]));
    expect(reading.kind).toBe('ms-swift metrics, JSON Lines');
    expect(steps(reading)).toEqual([6, 12, 18]);
    expect(reading.series!.stepsPerEntry).toBe(6);
  });

  it('of verl, with its data nested', async () => {
    const data = (least: number) => ({
      'critic/rewards/mean': 0.4,
      'critic/rewards/max': 0.4,
      'critic/rewards/min': least,
      'critic/advantages/max': least === 0.4 ? 0 : 1.2,
      'critic/advantages/min': 0,
      'actor/entropy': 0.9,
      'actor/kl_loss': 0.001,
      'actor/ppo_kl': 0.0002,
      'actor/pg_clipfrac': 0.01,
      'actor/grad_norm': 0.3,
      'actor/lr(1e-4)': 0.01,
      'response_length/mean': 250,
      'response_length/clip_ratio': 0.1,
      'training/rollout_probs_diff_mean': 0.004,
      'val-core/gsm8k/reward/mean@1': 0.55,
    });
    const reading = await readText(
      'm.jsonl',
      lines([
        { step: 1, data: data(0.4) },
        { step: 2, data: data(0) },
      ]),
    );
    expect(reading.kind).toBe('verl metrics, JSON Lines');
    expect(reading.series).toMatchObject({ stepsPerEntry: 1, rewardDeviation: 'batch' });
    expect(reading.series!.entries.map(({ values }) => values['advantages/all_zero'])).toEqual([1, 0]);
    expect(reading.series!.entries[0]!.values).toMatchObject({
      reward: 0.4,
      reward_std: 0,
      entropy: 0.9,
      kl: 0.001,
      'clip_ratio/region_mean': 0.01,
      learning_rate: expect.closeTo(1e-6, 12),
      'completions/mean_length': 250,
      'completions/clipped_ratio': 0.1,
      'sampling/probability_difference/mean': 0.004,
      'kl/old': 0.0002,
      eval_reward: 0.55,
    });
    expect(column(reading, 'reward_std')).toEqual([0, undefined]);
  });

  it('of prime-rl, several rows a step', async () => {
    const reading = await readText(
      'metrics.jsonl',
      lines([
        { step: 0, 'optim/lr': 1e-6, 'optim/grad_norm': 0.2 },
        { step: 0, 'loss/mean': -0.01, 'entropy/all/mean': 0.7, 'mismatch_kl/all/mean': 0.002 },
        { step: 0, 'reward/all/mean': 0.31, 'solve_none/all': 0.25, 'solve_all/all': 0.125 },
        { step: 1, 'optim/lr': 1e-6, 'optim/grad_norm': 0.3, 'loss/mean': -0.02 },
      ]),
    );
    expect(reading.kind).toBe('prime-rl metrics, JSON Lines');
    expect(steps(reading)).toEqual([0, 1]);
    expect(reading.series!.entries[0]!.values).toMatchObject({
      learning_rate: 1e-6,
      grad_norm: 0.2,
      loss: -0.01,
      entropy: 0.7,
      reward: 0.31,
      frac_reward_zero_std: 0.375,
      'sampling/kl': 0.002,
    });
  });

  it('of CS336, with keys for two trackers', async () => {
    const reading = await readText(
      'history.jsonl',
      lines([
        {
          train_step: 1,
          'train/loss': 0.2,
          'train/grad_norm': 0.4,
          'train/token_entropy': 1.1,
          'train/rewards': 0.1,
        },
        { eval_step: 1, 'eval/answer_reward': 0.3, 'eval/format_reward': 0 },
        { train_step: 2, 'train/loss': 0.1, 'train/rewards': 0.2 },
      ]),
    );
    expect(reading.kind).toBe('CS336 metrics, JSON Lines');
    expect(column(reading, 'reward')).toEqual([0.1, 0.2]);
    expect(reading.series!.entries[0]!.values).toMatchObject({
      entropy: 1.1,
      eval_reward: 0.3,
      'eval_rewards/format/mean': 0,
    });
  });

  it('of TRL through a tracker lose the prefix', async () => {
    const rows = [1, 2, 3].map((step) => ({
      _step: step + 7,
      'train/global_step': step,
      'train/reward': 0.1 * step,
      'train/reward_std': 0.2,
      'train/rewards/right/mean': 0.1,
      'eval/reward': 0.4,
    }));
    const reading = await readText('wandb.jsonl', lines(rows));
    expect(reading.kind).toBe('TRL metrics, JSON Lines');
    expect(steps(reading)).toEqual([1, 2, 3]);
    expect(column(reading, 'rewards/right/mean')).toEqual([0.1, 0.1, 0.1]);
    expect(column(reading, 'eval_reward')).toEqual([0.4, 0.4, 0.4]);
  });

  it('of ours alone', async () => {
    const row = { step: 1, reward: 0.5, reward_std: 0.1, loss: 'NaN', step_tokens: 900 };
    const reading = await readText('metrics.jsonl', lines([row]));
    expect(reading.kind).toBe('grpo metrics, JSON Lines');
    expect(reading.series).toMatchObject({
      stepsPerEntry: 1,
      rewardDeviation: 'batch',
    });
    expect(column(reading, 'loss')).toEqual([Number.NaN]);
  });

  it('count and name each line that is none', async () => {
    const good = { step: 1, reward: 0.5, loss: 0.1 };
    const text = `${lines([good])}oops\n${lines([{ ...good, step: 2 }])}{"step": 3, "rew`;
    const reading = await readText('metrics.jsonl', text);
    expect(steps(reading)).toEqual([1, 2]);
    expect(reading.broken.count).toBe(2);
    expect(reading.broken.first.map(({ line }) => line)).toEqual([2, 4]);
    expect(reading.broken.first[0]!.reason).toContain('oops');
  });
});

describe('a console of names and values', () => {
  it('is verl’s', async () => {
    const reading = await readText(
      'verl.log',
      '(TaskRunner pid=9) step:1 - global_seqlen/mean:900.5 - actor/entropy:0.5 - actor/pg_loss:-0.01 - critic/rewards/mean:0.25 - actor/lr:1e-06\n(TaskRunner pid=9) step:2 - actor/entropy:np.float64(0.25) - critic/rewards/mean:0.5 - response_length/clip_ratio:0.0\n',
    );
    expect(reading.kind).toBe('verl console log');
    expect(column(reading, 'entropy')).toEqual([0.5, 0.25]);
    expect(column(reading, 'reward')).toEqual([0.25, 0.5]);
    expect(column(reading, 'learning_rate')).toEqual([1e-6, undefined]);
  });

  it('is prime-rl’s', async () => {
    const reading = await readText(
      'prime.log',
      '12:00:01 SUCCESS Step 4 | 12.5s | Loss 0.0123 | Entropy 0.5100 | Mismatch KL 0.0007 | Grad. Norm 0.1200 | LR 1.00e-06 | MFU 20.0%\n12:00:09 SUCCESS Step 5 | Time: 11.10s | Loss: 0.0100 | Reward: 0.3000\n',
    );
    expect(reading.kind).toBe('prime-rl console log');
    expect(steps(reading)).toEqual([4, 5]);
    expect(reading.series!.entries[0]!.values).toMatchObject({
      loss: 0.0123,
      grad_norm: 0.12,
      learning_rate: 1e-6,
    });
    expect(column(reading, 'reward')).toEqual([undefined, 0.3]);
  });

  it('is torchforge’s, a block a step', async () => {
    const block = (step: number) => [
      `WandbBackend: Logged 70 metrics at step ${step}`,
      `=== [global_reduce] - METRICS STEP ${step} ===`,
      '  buffer/add/count_episodes_added: 16.0',
      `  episode/avg_response_tokens: ${900 + step}.5`,
      '  grpo_loss/kl_divergence_max: 6551.7',
      '  grpo_loss/kl_divergence_mean: 0.25',
      '  grpo_loss/total_loss: 1.3e-06',
      `  reward/evaluate_response/avg_MathReward_reward: 0.${step}`,
      `  reward/evaluate_response/avg_total_reward: 0.${step}5`,
      '  reward/evaluate_response/sum_MathReward_reward: 7.0',
      '==============================',
    ];
    const reading = await readText('forge.log', [2, 3].flatMap(block).join('\n'));
    expect(reading.kind).toBe('torchforge console log');
    expect(steps(reading)).toEqual([2, 3]);
    expect(column(reading, 'reward')).toEqual([0.25, 0.35]);
    expect(column(reading, 'rewards/MathReward/mean')).toEqual([0.2, 0.3]);
    expect(column(reading, 'completions/mean_length')).toEqual([902.5, 903.5]);
    expect(column(reading, 'kl')).toEqual([0.25, 0.25]);
    expect(column(reading, 'loss')).toEqual([1.3e-6, 1.3e-6]);
  });

  it('is AReaL’s: a table a step, counted over all epochs', async () => {
    const step = (at: number) => [
      `20260101-10:00:00.1 StatsLogger INFO: Epoch ${at > 2 ? 2 : 1}/2 Step ${at > 2 ? at - 2 : at}/2 Train step ${at}/4 done.`,
      '20260101-10:00:00.2 StatsLogger INFO: Stats (1/1):',
      '20260101-10:00:00.3 StatsLogger INFO: ',
      '╒═════════════════════════════════╤════════════╤════════════════════════════╤════════════╕',
      '│ ppo_actor/no_eos_ratios/avg     │ 2.5000e-01 │ ppo_actor/update/lr        │ 1.0000e-06 │',
      '├─────────────────────────────────┼────────────┼────────────────────────────┼────────────┤',
      `│ ppo_actor/task_reward/avg       │ ${at}.0000e-01 │ ppo_actor/update/grad_norm │ 3.0000e-01 │`,
      '│ ppo_actor/task_reward/min       │ 0.0000e+00 │ ppo_actor/prompt_len/avg   │ 1.0000e+02 │',
      `│ ppo_actor/task_reward/max       │ ${at === 4 ? 0 : 1}.0000e+00 │ ppo_actor/seq_len/avg      │ 4.0000e+02 │`,
      '│ ppo_actor/update/actor_loss/avg │ -1.000e-03 │                            │            │',
      '╘═════════════════════════════════╧════════════╧════════════════════════════╧════════════╛',
    ];
    const reading = await readText('areal.log', [1, 2, 3, 4].flatMap(step).join('\n'));
    expect(reading.kind).toBe('AReaL console log');
    expect(steps(reading)).toEqual([1, 2, 3, 4]);
    expect(reading.series!.entries[2]!.values).toMatchObject({
      reward: 0.3,
      loss: -0.001,
      grad_norm: 0.3,
      learning_rate: 1e-6,
      'completions/clipped_ratio': 0.25,
      'completions/mean_length': 300,
    });
    expect(column(reading, 'reward_std')).toEqual([undefined, undefined, undefined, 0]);
  });

  it('is slime’s: rows of rollout, optimizer step and speed belong together', async () => {
    const step = (at: number) => [
      `(RolloutManager pid=2) rollout.py:1193 - perf ${at}: {'rollout/response_len/max': 4096, 'rollout/zero_std/count_0': 12, 'rollout/truncated_ratio': 0.5, 'perf/rollout_time': 371.2}`,
      `(Actor pid=1) log_utils.py:259 - rollout ${at}: {'rollout/step': ${at}, 'rollout/rewards': 1e-09, 'rollout/raw_reward': 0.${at + 3}, 'rollout/log_probs': -0.28}`,
      `(Actor pid=1) model.py:660 - step ${at}: {'train/loss': 1e-06, 'train/entropy_loss': 0.27, 'train/kl_loss': 0.001, 'train/train_rollout_logprob_abs_diff': 0.013, 'train/grad_norm': 0.4, 'train/lr-pg_0': 1e-06, 'train/step': ${at}}`,
    ];
    const reading = await readText('slime.log', [0, 1, 2].flatMap(step).join('\n'));
    expect(reading.kind).toBe('slime log');
    expect(reading.series!.countsFrom).toBe(0);
    expect(steps(reading)).toEqual([0, 1, 2]);
    expect(reading.notes.join(' ')).not.toMatch(/go back/);
    expect(reading.series!.entries[2]!.values).toMatchObject({
      reward: 0.5,
      'completions/clipped_ratio': 0.5,
      'completions/max_length': 4096,
      entropy: 0.27,
      kl: 0.001,
      learning_rate: 1e-6,
      'sampling/sampling_logp_difference/mean': 0.013,
    });
  });

  it('without steps begins an entry where a name comes again, or another line stands between', async () => {
    const parts = ['loss: 0.1   grad_norm: 0.5', 'reward: 0.25   reward_std: 0.5'];
    const two = await readText('two.log', [...parts, ...parts].join('\n'));
    expect(column(two, 'loss')).toEqual([0.1, 0.1]);
    expect(column(two, 'reward')).toEqual([0.25, 0.25]);
    const apart = await readText('apart.log', [parts[0], 'a word', parts[1]].join('\n'));
    expect(column(apart, 'loss')).toEqual([0.1, undefined]);
  });
});

describe('the summary that W&B prints', () => {
  const summary = (reward: string) => [
    'wandb: Run history:',
    'wandb:        train/reward ▁▂▃▄▅▅▄▂▁',
    'wandb: Run summary:',
    'wandb:                     total_flos 0',
    'wandb:  train/completions/clipped_ratio 0.9375',
    'wandb:                train/global_step 120',
    `wandb:                     train/reward ${reward}`,
    'wandb:                 train/reward_std 0.01',
    'wandb:                      train/state finished',
  ];

  it('is an entry: the last value of each metric', async () => {
    const reading = await readText('end.log', summary('0.02').join('\n'));
    expect(reading.kind).toBe('summary that W&B printed of a run of TRL');
    expect(steps(reading)).toEqual([120]);
    expect(reading.series!.entries[0]!.values).toMatchObject({
      reward: 0.02,
      reward_std: 0.01,
      'completions/clipped_ratio': 0.9375,
    });
  });

  it('gives way to the steps above it', async () => {
    const log = [1, 2, 3].map((step) => trlLine(`0.${step}`)).concat(summary('0.3'));
    const reading = await readText('whole.log', log.join('\n'));
    expect(reading.kind).toBe('TRL log');
    expect(column(reading, 'reward')).toEqual([0.1, 0.2, 0.3]);
  });
});

describe('what reward_std is', () => {
  const row = (step: number, own: number, deviation: number, flat = 0.5) => ({
    step,
    loss: 0,
    reward: 0.5,
    reward_std: deviation,
    frac_reward_zero_std: flat,
    'rewards/right/mean': 0.5,
    'rewards/right/std': own,
  });
  const told = async (rows: object[]) => (await readText('m.jsonl', lines(rows))).series!.rewardDeviation;

  it('follows from the deviation of the only reward', async () => {
    expect(await told([row(1, 0.5, 0.5), row(2, 0.4, 0.4), row(3, 0.3, 0.3)])).toBe('batch');
    expect(await told([row(1, 0.5, 0.2), row(2, 0.4, 0.1), row(3, 0.3, 0.2)])).toBe('groups');
    expect(await told([row(1, 0.5, 0.2), row(2, 0.4, 0.4), row(3, 0.3, 0.2)])).toBeUndefined();
  });

  it('follows from groups without deviation', async () => {
    expect(await told([row(1, 0, 0), row(2, 0, 0.4, 1)])).toBe('batch');
  });
});

import { describe, expect, it } from 'vitest';
import { column, readText, steps } from '../files.test.helper.js';

describe('a phase log of rookworld', () => {
  const step = (n: number, rewards: readonly number[], kl: number) =>
    [
      n === 1
        ? '09:00:00 | ==================== PHASE 3: MANUAL GRPO STEP ===================='
        : `09:00:00 | 🧭 SEQUENTIAL STEP ${n}/2`,
      '09:00:01 | 🎯 Prompt 1: P: 8/8/8 w - - 0 1',
      ...rewards.map((_, i) => `09:00:01 |     Gen ${i + 1}: Train_LP= -${400 + i}.0, Ref_LP=  -40.0`),
      '09:00:02 | ==================== PHASE 4: REWARD CALCULATION ====================',
      '09:00:02 | 🎯 Scoring Prompt 1 completions:',
      ...rewards.slice(0, 2).map((r, i) => `09:00:02 |   Gen ${i + 1}: Reward= ${r.toFixed(3)} | M: a1a2...`),
      '09:00:02 |   📊 Average reward: 0.100',
      '09:00:02 | 🎯 Scoring Prompt 2 completions:',
      ...rewards
        .slice(2)
        .map((r, i) => `09:00:02 |   Gen ${i + 1}: Reward=${r < 0 ? '' : ' '}${r.toFixed(3)} | M: b1b2...`),
      '09:00:02 |   ❌ Error scoring: boom',
      '09:00:02 | ==================== PHASE 6: LOSS ====================',
      ...rewards.map(
        (_, i) => `09:00:03 |   Gen ${i + 1}: A=+0.500, logp/len=-6.000, kl=${kl.toFixed(3)}, H=2.000`,
      ),
      '09:00:03 |     ⛳ Micro-update 1/1: grad_norm=10.50',
      '09:00:03 |   Policy Gradient Loss:   -0.113',
      '09:00:03 |   Total Loss:          =  -0.213',
      '09:00:03 |   KL penalty ratio: 12.5%',
      `09:00:04 | ==================== PHASE 9: POST-UPDATE PERFORMANCE (step ${n}) ====================`,
      '09:00:04 |   Average reward: 0.1875',
      '09:00:04 |   Positive ratio: 62.5%',
    ].join('\n');
  const table = [
    '09:00:09 | Step |    Pre |   Post |      Δ |      PG |      KL |   KL% |    Adv |  GradN |     β |    Sec',
    '09:00:09 | ------------------------------------------------------------',
    '09:00:09 |    1 |  0.188 |  0.188 |  0.000 |  -0.113 |   0.000 |   0.0 |  3.165 |  10.50 | 0.000 |  44.00',
    '09:00:09 |    2 |  0.188 |  0.188 |  0.000 |  -0.113 |   0.000 |   0.0 |  3.165 |  10.50 | 0.050 |  27.00',
  ].join('\n');

  it('gives an entry a step, with what the table adds', async () => {
    const text = `${step(1, [0.5, 0.1, -0.5, -0.5], 11)}\n${step(2, [0.2, 0.2, 0.2, 0.2], 12)}\n${table}\n`;
    const reading = await readText('run.log', text);
    expect(reading).toMatchObject({ kind: 'rookworld phase log', isGrpo: true });
    expect(steps(reading)).toEqual([1, 2]);
    expect(reading.series!.stepsPerEntry).toBe(1);
    const [first, second] = reading.series!.entries.map(({ values }) => values);
    expect(first!.reward).toBeCloseTo(-0.1, 9);
    // One group deviates by 0.4/√2, the other not at all.
    expect(first!.reward_std).toBeCloseTo(0.4 / Math.SQRT2 / 2, 9);
    expect(first).toMatchObject({
      frac_reward_zero_std: 0.5,
      reward_failures: 1,
      kl: 11,
      entropy: 2,
      'logprobs/mean': -6,
      sequence_logprob: -401.5,
      sequence_logprob_reference: -40,
      grad_norm: 10.5,
      policy_loss: -0.113,
      loss: -0.213,
      eval_reward: 0.1875,
      eval_reward_before: 0.188,
      step_time: 44,
    });
    expect(second).toMatchObject({ frac_reward_zero_std: 1, reward_std: 0, beta: 0.05 });
  });

  it('is enough as a table', async () => {
    const reading = await readText('table.log', table);
    expect(column(reading, 'eval_reward')).toEqual([0.188, 0.188]);
    expect(column(reading, 'step_time')).toEqual([44, 27]);
  });
});

describe('a log of nano_gpt', () => {
  it('gathers micro-steps into their iteration', async () => {
    const reading = await readText(
      'out.log',
      [
        '[Micro 0] 1. Iteration start: mem=800 MB, time=0.000s, masks_in_X=12/1024 (1.2%)',
        '[Micro 0] 3. Samples scored: mem=800 MB, time=0.500s, rewards=0.4000±0.1000',
        '[Micro 0] 4. Loss computed: mem=900 MB, time=0.100s, pg_loss=-0.020000, kl=0.500000, total=0.030000',
        'WARNING: All advantages are near zero! rewards_grouped=[0.2, 0.2]',
        '[Micro 1] WARNING: No masks in batch, skipping',
        '[Micro 1] 3. Samples scored: rewards=0.2000±0.0000',
        '      pg_loss=0.0200, kl_penalty=0.0100, total=0.0300',
        'iter 0: loss 0.1235 (main 0.1235, critic 0.0000), time 21747.97ms',
        'iter 1: loss 0.0000 (main 0.0000, critic 0.0000), time 103634.20ms',
      ].join('\n'),
    );
    expect(reading).toMatchObject({ kind: 'nano_gpt log of micro-steps and iterations', isGrpo: true });
    expect(steps(reading)).toEqual([0, 1]);
    const [first, second] = reading.series!.entries.map(({ values }) => values);
    expect(first!.reward).toBeCloseTo(0.3, 9);
    expect(first).toMatchObject({
      reward_std: 0.05,
      frac_reward_zero_std: 0.5,
      policy_loss: 0,
      kl_penalty: expect.closeTo(0.255, 9),
      masked_positions: 6,
      'skipped/no_masks': 1,
      'warnings/zero_advantages': 1,
      micro_steps: 2,
      loss: 0.1235,
    });
    expect(second).toEqual({ loss: 0, step_time: expect.closeTo(103.6342, 9) });
  });

  it('tells times of stages from times since the micro-step began', async () => {
    const iteration = (sample: number, score: number, loss: number) =>
      [
        `[Micro 0] 2. Samples generated: mem=800 MB, time=${sample}s`,
        `[Micro 0] 3. Samples scored: mem=900 MB, time=${score}s, rewards=0.4±0.1`,
        `[Micro 0] 4. Loss computed: mem=850 MB, time=${loss}s, pg_loss=0.1, kl=0, total=0.1`,
        'iter 0: loss 0.1, time 1700ms',
      ].join('\n');
    const secondsOf = async (...times: [number, number, number]) =>
      (await readText('out.log', iteration(...times))).series!.entries[0]!.values;
    expect(await secondsOf(0.1, 0.4, 1.1)).toMatchObject({
      'seconds/sample': 0.1,
      'seconds/score': 0.4,
      'seconds/loss': 1.1,
      memory_bytes: 900 * 2 ** 20,
    });
    const since = await secondsOf(0.1, 0.5, 1.6);
    expect(since['seconds/score']).toBeCloseTo(0.4, 9);
    expect(since['seconds/loss']).toBeCloseTo(1.1, 9);
  });

  it('of pre-training has no GRPO signals', async () => {
    const reading = await readText(
      'pretrain.log',
      'iter 0: loss 10.9, time 300.00ms\niter 1: loss 9.8, time 301.00ms\n',
    );
    expect(reading.isGrpo).toBe(false);
  });
});

describe('the console of grpo-dual', () => {
  it('tells a step by its marks', async () => {
    const reading = await readText(
      'console.log',
      [
        "[Judge@step1] time=5.5s providers={'openai': 20, 'heuristic': 4}",
        '[Fairness诊断@step1] Entropy: mean=0.040, min=0.010, max=0.090 ⚠️ 熵塌陷!',
        '⚠️ [Step 1] 2/8 组(25.0%)的reward std<0.01，梯度信号被抹平',
        '[Reward Scale@step1] F: std=0.050, H: std=0.250 | Signal: F=0.2, H=0.7',
        '⚠️ [步骤1] 截断率过高(F:10.0%, H:30.0%)',
        '[Fairness诊断@step2] Entropy: mean=0.020, min=0.010, max=0.030',
        '[诊断1: Batch Composition@step3] 3 Fairness样本:',
        'Fairness样本 0: entropy=0.100',
        'Fairness样本 1: entropy=0.300',
      ].join('\n'),
    );
    expect(reading).toMatchObject({ kind: 'grpo-dual console log', isGrpo: true });
    expect(steps(reading)).toEqual([1, 2, 3]);
    expect(reading.series!.entries[0]!.values).toMatchObject({
      entropy: 0.04,
      entropy_min: 0.01,
      frac_reward_zero_std: 0.25,
      'rewards/fairness/std': 0.05,
      'rewards/hallucination/std': 0.25,
      'completions/clipped_ratio': 0.2,
      judge_time: 5.5,
      provider_openai: 20,
      provider_heuristic: 4,
    });
    expect(column(reading, 'entropy')[2]).toBeCloseTo(0.2, 9);
  });
});

describe('the table of grpo-dual', () => {
  const header =
    'step,loss,kl_f,kl_h,kl_overall,beta_f,beta_h,grad_cosine_sim,reward_f_mean,reward_h_mean,reward_f_std,reward_h_std,clip_frac,gen_len_f_mean,gen_len_h_mean,trunc_frac_f,trunc_frac_h,zero_len_rate_f,zero_len_rate_h,judge_time,provider_openai,provider_claude,provider_heuristic,adv_abs_mean,delta_mean,nan_inf_hits,lr,ppo_eps,gen_len_f_moving_median,gen_len_h_moving_median,clip_frac_moving_p95,max_new_tokens_train';
  const row = (step: number, kl: number) =>
    `${step},0.5,${kl},0.4,${kl},0.05,0.05,nan,0.2,0.6,0.1,0.3,0.02,40,60,0.0,0.5,0,0,5.1,20,0,4,0.7,0.01,0,3e-06,0.1,40,60,0.05,96`;

  it('has both tasks in one', async () => {
    const reading = await readText(
      'train_step_metrics.csv',
      `${header}\n${row(1, 1.007)}\nx,y\n${row(2, 0.9)}\r\n`,
    );
    expect(reading.kind).toBe('grpo-dual table of metrics, CSV');
    expect(reading.declared).toMatchObject({
      kl: { estimator: 'k3' },
      objective: { ratio: 'sequence' },
    });
    expect(column(reading, 'kl')).toEqual([1.007, 0.9]);
    expect(reading.series!.entries[0]!.values).toMatchObject({
      reward: 0.4,
      reward_std: 0.2,
      'rewards/fairness/mean': 0.2,
      'rewards/hallucination/std': 0.3,
      'completions/mean_length': 50,
      'completions/clipped_ratio': 0.25,
      'clip_ratio/region_mean': 0.02,
      learning_rate: 3e-6,
      grad_cosine: Number.NaN,
      provider_heuristic: 4,
    });
    expect(reading.broken).toMatchObject({ count: 1, first: [{ line: 3 }] });
  });

  it('is one of several: a tracker’s export is read too', async () => {
    const text = '"Step","train/loss","train/reward"\n"1","0.5","0.25"\n"2","0.4","0.5"\n';
    const reading = await readText('export.csv', text.replaceAll('"Step"', '"_step"'));
    expect(column(reading, 'reward')).toEqual([0.25, 0.5]);
  });
});

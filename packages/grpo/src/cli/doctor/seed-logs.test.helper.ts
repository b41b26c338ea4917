/** Logs in the forms of other trainers, with invented numbers: each with one fault, or healthy. */
import { numbers } from '../../doctor/record.test.helper.js';

/** A run of values by step, 1-based. */
type Curve = (step: number) => number;

const range = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
const deviation = (values: readonly number[]) => {
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, x) => sum + (x - centre) ** 2, 0) / (values.length - 1));
};

/** One JSON file per step, as argen's callback writes them. */
export function argenLogs({
  steps = 4,
  reward,
  deviationOf = () => 0.2,
  gradient = () => 0.4,
  clipped = () => 0,
  loss = () => 0.01,
}: {
  steps?: number;
  reward: Curve;
  deviationOf?: Curve;
  gradient?: Curve;
  clipped?: Curve;
  loss?: Curve;
}): Record<string, string> {
  const file = (step: number): [string, string] => {
    const cut = clipped(step);
    const row = {
      loss: loss(step),
      grad_norm: gradient(step),
      learning_rate: 3e-6 * (1 - step / (steps + 1)),
      num_tokens: 5000 * step,
      'completions/mean_length': 110 + 146 * cut,
      'completions/min_length': cut === 1 ? 256 : 40,
      'completions/max_length': cut === 0 ? 180 : 256,
      'completions/clipped_ratio': cut,
      'completions/mean_terminated_length': cut === 1 ? 0 : 110,
      'rewards/reward_fn/mean': reward(step),
      'rewards/reward_fn/std': deviationOf(step),
      reward: reward(step),
      reward_std: deviationOf(step),
      kl: 0,
      'clip_ratio/region_mean': 0,
      epoch: step / 50,
    };
    return [`step_${step}_logs.json`, JSON.stringify(row, undefined, 2)];
  };
  return Object.fromEntries(range(steps).map(file));
}

export interface RookworldOptions {
  steps?: number;
  learningRate?: number;
  /** Nats a token that the policy's score misses its own samples by. */
  miss?: Curve;
  /** Totals run on over this many padded positions. */
  padding?: number;
  evaluation?: Curve;
  /** Lines begin with the time. */
  timed?: boolean;
  seed?: number;
}

const PROMPTS = 4;
const GROUP = 4;

/** The log of a manual GRPO loop: the phases of each step, and a table of the steps at the end. */
export function rookworldLog({
  steps = 6,
  learningRate = 1e-6,
  miss = (step) => -0.002 * (step - 1),
  padding = 0,
  evaluation = (step) => 0.4 + 0.004 * step + 0.01 * Math.sin(step),
  timed = false,
  seed = 1,
}: RookworldOptions = {}): string {
  const random = numbers(seed);
  const table: string[] = [];
  const lines = [
    '🔍 MANUAL GRPO DEBUG - SINGLE BATCH ANALYSIS',
    '📋 Configuration (TRL-matched):',
    `  Batch size: ${PROMPTS}`,
    `  Generations per prompt: ${GROUP}`,
    '  Max new tokens: 256',
    '  Beta (KL penalty): 0.1 (low for more learning)',
    `  Learning rate: ${learningRate.toExponential()}`,
    banner('PHASE 1: SETUP'),
    '  P: tasks: 4/4',
    banner('PHASE 2: INITIAL MODEL PERFORMANCE'),
    ...range(PROMPTS).map((p) => `  Prompt ${p}: avg reward = ${(0.1 * p).toFixed(3)}`),
    `  Average reward: ${evaluation(0).toFixed(4)}`,
    '  Positive ratio: 75.0%',
  ];
  for (const step of range(steps)) {
    const groups = range(PROMPTS).map(() =>
      range(GROUP).map(() => {
        const tokens = 30 + Math.floor(random() * 40);
        const reference = -(0.4 + random());
        const policy = reference + miss(step) * (0.8 + 0.4 * random());
        const moves = range(5).map(
          () => `${'abcdefgh'[Math.floor(random() * 8)]}${1 + Math.floor(random() * 8)}`,
        );
        return {
          tokens,
          reference,
          policy,
          text: `M: ${moves.join(' ')}`,
          reward: Math.round(1000 * random()) / 1000,
        };
      }),
    );
    const title = step === 1 ? banner('PHASE 3: MANUAL GRPO STEP') : `🧭 SEQUENTIAL STEP ${step}/${steps}`;
    const suffix = step === 1 ? '' : ` (step ${step})`;
    // Padding is dear to both alike: the same total for all, with little of the text left in it.
    const beyond = -4 * padding;
    const total = (nats: number) =>
      (padding > 0 ? 8 * Math.round((beyond + nats / 5) / 8) : nats).toFixed(1).padStart(7);
    lines.push(title, '🤖 Generating completions for GRPO training...');
    for (const [p, group] of groups.entries()) {
      lines.push('', `🎯 Prompt ${p + 1}: P: 8/8/4k3/8/8/4K3/8/${p}R6 w - - 0 1`);
      for (const [i, { tokens, reference, policy, text }] of group.entries()) {
        lines.push(
          `    Gen ${i + 1}: Train_LP=${total(policy * tokens)}, Ref_LP=${total(reference * tokens)}`,
          `           Text:             ${text}   ...`,
          `           Normalized: ${text}...`,
        );
      }
    }
    lines.push(banner(`PHASE 4: REWARD CALCULATION${suffix}`));
    for (const [p, group] of groups.entries()) {
      lines.push('', `🎯 Scoring Prompt ${p + 1} completions:`);
      for (const [i, { reward, text }] of group.entries())
        lines.push(`  Gen ${i + 1}: Reward= ${reward.toFixed(3)} | ${text}...`);
      lines.push(`  📊 Average reward: ${mean(group.map(({ reward }) => reward)).toFixed(3)}`);
    }
    lines.push(banner('PHASE 6-8: CORRECTED GRPO LOSS CALCULATION'));
    const kls: number[] = [];
    let policyLoss = 0;
    for (const [p, group] of groups.entries()) {
      const rewards = group.map(({ reward }) => reward);
      lines.push(`🎯 Prompt ${p + 1} - Corrected GRPO Loss:`);
      for (const [i, { policy, reference, reward }] of group.entries()) {
        const advantage = (reward - mean(rewards)) / (deviation(rewards) + 1e-4);
        const kl = policy - reference;
        kls.push(kl);
        policyLoss += (-advantage * policy) / (PROMPTS * GROUP);
        lines.push(
          `  Gen ${i + 1}: A=${signed(advantage)}, logp/len=${policy.toFixed(3)}, kl=${kl.toFixed(3)}`,
          `         PG=${(-advantage * policy).toFixed(3)}, KL_penalty=${(0.1 * kl).toFixed(3)}, total=${(-advantage * policy + 0.1 * kl).toFixed(3)}`,
        );
      }
    }
    const klLoss = 0.1 * mean(kls);
    const norm = 5 + 3 * random();
    lines.push(
      '🔢 CORRECTED Loss Breakdown:',
      `  Policy Gradient Loss:    ${policyLoss.toFixed(3)}`,
      `  KL Loss (with gradients):   ${klLoss.toFixed(3)}`,
      `  Total Loss:          =  ${(policyLoss + klLoss).toFixed(3)}`,
      `  Total gradient norm: ${norm.toFixed(2)}`,
      banner(`PHASE 9: POST-UPDATE PERFORMANCE${suffix}`),
      `  Average reward: ${evaluation(step).toFixed(4)}`,
      '  Positive ratio: 75.0%',
    );
    const cells = [
      evaluation(step - 1),
      evaluation(step),
      evaluation(step) - evaluation(step - 1),
      policyLoss,
      klLoss,
    ];
    table.push(
      [step, ...cells.map((x) => x.toFixed(3)), '10.0', '2.100', norm.toFixed(2), '0.100', '31.50'].join(
        ' | ',
      ),
    );
  }
  lines.push(
    '📋 Per-step overview:',
    `Step |    Pre |   Post |      Δ |      PG |      KL |   KL% |    Adv |  GradN |     β |    Sec`,
    ...table,
  );
  return `${lines.map((line, i) => (timed ? `09:${String(i % 60).padStart(2, '0')}:00 | ${line}` : line)).join('\n')}\n`;
}

const banner = (title: string) => `==================== ${title} ====================`;
const signed = (value: number) => `${value < 0 ? '' : '+'}${value.toFixed(3)}`;

/** The log of a nanoGPT-like trainer: lines of micro-steps, `late` in its last form, and one line per iteration. */
export function nanoGptLog({
  iterations = 4,
  micros = 4,
  masks = () => 130,
  skips = () => false,
  late = true,
  configured = true,
  seed = 3,
}: {
  iterations?: number;
  micros?: number;
  masks?: (iteration: number, micro: number) => number;
  /** Whether all completions of a micro-step are equal, so that it is left out. */
  skips?: (iteration: number, micro: number) => boolean;
  late?: boolean;
  configured?: boolean;
  seed?: number;
} = {}): string {
  const random = numbers(seed);
  const lines = configured
    ? [
        'GRPO Training Configuration:',
        '  group_size: 8',
        '  kl_beta: 0.1',
        '  batch_size: 1',
        `  gradient_accumulation_steps: ${micros}`,
        '  learning_rate: 1e-05',
      ]
    : [];
  for (let iteration = 0; iteration < iterations; iteration++) {
    let last = 0;
    for (let micro = 0; micro < micros; micro++) {
      const masked = masks(iteration, micro);
      const at = `  [Micro ${micro}]`;
      const spent = () => `mem=900MB, time=${(0.2 + random()).toFixed(3)}s`;
      if (late && masked === 0) {
        lines.push(`${at} WARNING: No masks in batch, skipping`);
        continue;
      }
      lines.push(
        `${at} 1. Iteration start: mem=850MB, time=0.000s, masks_in_X=${masked}/1024 (${((100 * masked) / 1024).toFixed(1)}%)`,
      );
      lines.push(`${at} 2. ${late ? 'Forward and sample' : 'Samples generated'}: ${spent()}`);
      if (late && skips(iteration, micro)) {
        lines.push('  WARNING: All 8 completions are identical! Skipping this batch.');
        continue;
      }
      const spread = masked === 0 ? 0 : 0.05 + 0.1 * random();
      lines.push(
        `${at} 3. Samples scored: ${spent()}, rewards=${(0.3 + 0.2 * random()).toFixed(4)}±${spread.toFixed(4)}`,
      );
      if (masked === 0) {
        lines.push('  WARNING: All advantages are near zero! rewards_grouped=[0.31, 0.31]');
        lines.push(
          '  WARNING: All sequence_log_probs are near zero! num_masked=0.0, total_masks_in_repeated=0',
        );
      }
      const policy = masked === 0 ? 0 : 4 * (random() - 0.5) + 0.5;
      const kl = masked === 0 || iteration === 0 ? 0 : 0.01 * random();
      const total = (policy + kl) / micros;
      last = policy + kl;
      if (late) {
        lines.push(`${at} 6. Loss computed: ${spent()}`);
        lines.push(
          `      pg_loss=${policy.toFixed(4)}, kl_penalty=${kl.toFixed(4)}, total=${total.toFixed(4)}`,
        );
        lines.push(
          `      avg_seq_log_prob=${(-2 * masked).toFixed(2)}, avg_advantage=0.0000, avg_kl=${(10 * kl).toFixed(4)}`,
        );
        lines.push(`${at} 7. Backward: ${spent()}`);
      } else
        lines.push(
          `${at} 4. Loss computed: ${spent()}, pg_loss=${policy.toFixed(6)}, kl=${kl.toFixed(6)}, total=${total.toFixed(6)}`,
        );
    }
    lines.push('  5. Optimizer step finished: mem=900MB, time=4.100s total');
    lines.push(
      `iter ${iteration}: loss ${last.toFixed(4)} (main ${last.toFixed(4)}, critic 0.0000), time ${(4000 + 200 * random()).toFixed(2)}ms`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Tables, consoles and tracker logs in the forms of other trainers, with invented numbers. */
import { numbers } from '../../doctor/record.test.helper.js';

type Curve = (step: number) => number;
const range = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

const COLUMNS =
  'step,loss,kl_f,kl_h,kl_overall,beta_f,beta_h,grad_cosine_sim,reward_f_mean,reward_h_mean,reward_f_std,reward_h_std,clip_frac,gen_len_f_mean,gen_len_h_mean,trunc_frac_f,trunc_frac_h,zero_len_rate_f,zero_len_rate_h,judge_time,provider_openai,provider_claude,provider_heuristic,adv_abs_mean,delta_mean,nan_inf_hits,lr,ppo_eps,gen_len_f_moving_median,gen_len_h_moving_median,clip_frac_moving_p95,max_new_tokens_train';

/** `train_step_metrics.csv` of a trainer of two tasks. */
export function dualTable({
  steps = 30,
  kl,
  cut = () => 0,
  seed = 2,
}: {
  steps?: number;
  /** Of the first task; the second has half of it. */
  kl: Curve;
  /** Of the second task's completions. */
  cut?: Curve;
  seed?: number;
}): string {
  const random = numbers(seed);
  const rows = range(steps).map((step) => {
    const values: Record<string, number | string> = {
      step,
      loss: (0.02 * (random() - 0.5)).toFixed(6),
      kl_f: kl(step).toFixed(4),
      kl_h: (kl(step) / 2).toFixed(4),
      kl_overall: (0.75 * kl(step)).toFixed(4),
      beta_f: 0.05,
      beta_h: 0.05,
      grad_cosine_sim: 'nan',
      reward_f_mean: (0.45 + 0.005 * step + 0.04 * random()).toFixed(4),
      reward_h_mean: (0.6 + 0.002 * step + 0.04 * random()).toFixed(4),
      reward_f_std: (0.1 + 0.05 * random()).toFixed(4),
      reward_h_std: (0.25 + 0.05 * random()).toFixed(4),
      clip_frac: (0.03 * random()).toFixed(4),
      gen_len_f_mean: (40 + 5 * random()).toFixed(1),
      gen_len_h_mean: (60 + 9 * random()).toFixed(1),
      trunc_frac_f: 0,
      trunc_frac_h: cut(step).toFixed(4),
      judge_time: (4 + 2 * random()).toFixed(2),
      provider_openai: 24,
      adv_abs_mean: (0.7 + 0.1 * random()).toFixed(4),
      lr: 3e-6,
      ppo_eps: 0.1,
      max_new_tokens_train: 96,
    };
    return COLUMNS.split(',')
      .map((name) => values[name] ?? 0)
      .join(',');
  });
  return `${COLUMNS}\n${rows.join('\n')}\n`;
}

/** The console output of the same trainer for each step. */
export function dualConsole({
  steps = 6,
  coefficient = () => 0.2,
  entropy,
  kl,
  flat = () => 1,
  counted = (step) => 4 * flat(step),
}: {
  steps?: number;
  coefficient?: Curve;
  entropy: Curve;
  /** Without it the parts of the loss are not printed. */
  kl?: Curve;
  /** Flat groups of six. */
  flat?: Curve;
  /** The same, counted over 24 completions. */
  counted?: Curve;
}): string {
  const lines = ['✅ 多终止符已启用: [128001, 128009]'];
  for (const step of range(steps)) {
    const [h, c, f] = [entropy(step), coefficient(step), flat(step)];
    lines.push(
      `[诊断1: Batch Composition@step${step}] 3 Fairness样本:`,
      `[Judge@step${step}] time=4.${step % 10}s providers={'openai': 24}`,
      `[Fairness诊断@step${step}] Entropy: mean=${h.toFixed(3)}, min=${(h / 2).toFixed(3)}, max=${(2 * h).toFixed(3)}`,
      `📊 零梯度组监控 (Step ${step - 1}):`,
      '  Fairness:',
      `    实际: ${Math.ceil(counted(step) / 2)}/12 (8.3%)`,
      '  Hallucination:',
      `    实际: ${Math.floor(counted(step) / 2)}/12 (8.3%)`,
      `⚠️ [Step ${step}] ${f}/6 组(${((100 * f) / 6).toFixed(1)}%)的reward std<0.01，梯度信号被抹平`,
      `[Reward Scale@step${step}] F: std=0.1${step % 10}0, H: std=0.2${step % 10}0 | Signal: F=0.20, H=0.73`,
    );
    if (kl)
      lines.push(
        `🔬 [Loss组件诊断 @step${step}]`,
        ...['Fairness', 'Hallucination'].flatMap((task, i) => {
          const own = kl(step) / (1 + i);
          return [
            `${task} Loss组件:`,
            '  Reward项(负surrogate): -0.0002',
            `  KL项(β=0.0500): +${(0.05 * own).toFixed(4)}  (raw_kl=${own.toFixed(4)})`,
            `  Entropy项(coef=${c.toFixed(1)}): -${(c * h).toFixed(4)}  (raw_entropy=${h.toFixed(4)})`,
          ];
        }),
        '整体:',
        `  Overall Loss: ${(0.05 * kl(step) - c * h).toFixed(4)}`,
      );
  }
  return `${lines.join('\n')}\n`;
}

/** The tracker log of a CS336 trainer, one row per call. */
export function cs336Log({
  steps = 40,
  evalEvery = 5,
  format,
  answer,
  seed = 4,
}: {
  steps?: number;
  evalEvery?: number;
  format: Curve;
  answer: Curve;
  seed?: number;
}): string {
  const random = numbers(seed);
  const rows: object[] = [];
  for (const step of range(steps)) {
    const flat = format(step) === 0;
    rows.push({
      train_step: step,
      'train/loss': flat ? 0 : 0.02 * (random() - 0.5),
      'train/grad_norm': flat ? 0 : 0.3 + 0.1 * random(),
      'train/entropy': 0.4 + 0.1 * random(),
      'train/reward_mean': answer(step),
      'train/reward_std': flat ? 0 : 0.3 + 0.02 * random(),
      'train/format_reward': format(step),
      'train/answer_reward': answer(step),
      'train/lr': 1e-5,
      'train/response_length': 300 + 40 * random(),
    });
    if (step % evalEvery === 0)
      rows.push({
        eval_step: step / evalEvery,
        'eval/accuracy': answer(step),
        'eval/format_reward': format(step),
        'eval/answer_reward': answer(step),
      });
  }
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/** Completions of the same trainer with their rewards; `keepsStop` says whether the engine keeps the stop string. */
export function cs336Completions({
  keepsStop,
  rows = 32,
  finish = true,
  seed = 5,
}: {
  keepsStop: boolean;
  rows?: number;
  finish?: boolean;
  seed?: number;
}): string {
  const random = numbers(seed);
  return range(rows)
    .map((row) => {
      const problem = Math.ceil(row / 8);
      const right = random() < 0.5;
      const answer = String(right ? 7 * problem : 7 * problem + 1);
      const said = ` ${problem} sevens are counted up${'.'.repeat(1 + Math.floor(4 * random()))} </think> <answer> ${answer} `;
      const format = Number(keepsStop);
      return `${JSON.stringify({
        step: 1,
        prompt: `User: What is 7 times ${problem}?\nAssistant: <think>`,
        response: `${said}${keepsStop ? '</answer>' : ''}`,
        ground_truth: String(7 * problem),
        format_reward: format,
        answer_reward: format * Number(right),
        reward: format * Number(right),
        ...(finish && { finish_reason: 'stop' }),
      })}\n`;
    })
    .join('');
}

/** How the trainer scores, told by one completion scored plainly: at which temperature, by which logits. */
import type { Probes, StepRecord } from '../../trace/index.js';
import { type Measured, stepCheck } from '../check.js';
import { fail, notApplicable, type Outcome, pass } from '../outcome.js';
import { toleranceOf } from '../tolerance.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const PATH = 'probes.plainScoring: taken where sampler and trainer disagree';
/** As many tokens in completions of several, for it to be no accident that they have one log-prob. */
const ENOUGH = 20;

type PlainScoring = NonNullable<Probes['plainScoring']>[number];

export const scoringChecks = [
  stepCheck({
    code: 'B18.temperature',
    title: 'The sampler draws at the declared temperature',
    stage: 'generation',
    kind: 'identity',
    level: 3,
    threshold:
      'where sampler and trainer disagree, the sampler’s log-probs of a completion fit no other temperature than the declared one within the tolerance of the precision',
    source: 'identity; ART#140, verl#7270: generation_config.json overrides what was asked for',
    remedy: 'Read the sampling parameters back from the engine; pass the temperature on whatever its value.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B19', 'B39', 'B55'],
    needs: ['probes', 'declared'],
    test: ({ probes, declared }, record) => temperatureOf('sampler', probes, declared.temperature, record),
  }),
  stepCheck({
    code: 'B19.scoring',
    title: 'The trainer scores at the declared temperature',
    stage: 'logprob',
    kind: 'identity',
    level: 3,
    threshold:
      'where sampler and trainer disagree, the policy’s log-probs of a completion fit no other temperature than the declared one within the tolerance of the precision',
    source: 'identity; trl#3029, trl#4159: log-probs at temperature 1 of tokens drawn at another',
    remedy:
      'Divide the logits once by the sampling temperature before every log-softmax: policy, old and reference.',
    consequence,
    induces: ['B38', 'B39', 'B51', 'B55'],
    needs: ['probes', 'declared'],
    test: ({ probes, declared }, record) => temperatureOf('policy', probes, declared.temperature, record),
  }),
  stepCheck({
    code: 'B35.plain',
    title: 'A token is scored by the logits before it',
    stage: 'logprob',
    kind: 'identity',
    level: 3,
    threshold:
      'where sampler and trainer disagree, the policy’s log-probs of a completion do not fit the logits one place off within the tolerance of the precision',
    source: 'identity; seed 001, phase 3',
    remedy: 'logits[i] predict ids[i + 1]: drop the last row of logits and the first id.',
    consequence,
    induces: ['B19', 'B36', 'B38', 'B39', 'B51', 'B55'],
    needs: ['probes'],
    test({ probes: { plainScoring } }, record) {
      const straight = plainScoring?.find(({ shift }) => shift === 0);
      const shifted = plainScoring?.filter(({ shift }) => shift !== 0) ?? [];
      if (!straight?.policy.tokens || shifted.length === 0) return notApplicable(PATH);
      const best = nearest(shifted, 'policy');
      const measured = { gap: straight.policy.mean, shift: best.shift, gapThere: best.policy.mean };
      return judge(straight.policy.mean, best.policy.mean, measured, record);
    },
  }),
  stepCheck({
    code: 'B37.broadcast',
    title: 'The tokens of a completion have log-probs of their own',
    stage: 'logprob',
    kind: 'identity',
    level: 3,
    threshold: `not: one log-prob for all tokens of every completion, in ${ENOUGH} tokens or more`,
    source: 'identity; seed 003: logits of the last position only, broadcast to all',
    remedy:
      'Ask the model for the logits of every completion token, and check their shape before they are gathered.',
    consequence,
    induces: ['B36', 'B38', 'B39', 'B49', 'B51', 'B19'],
    needs: ['firstPolicyLogprobs'],
    test({ firstPolicyLogprobs }) {
      // Near 0 log-probs round to one number in health.
      const long = firstPolicyLogprobs.filter((row) => row.length > 1 && row[0]! < -0.01);
      const tokens = long.reduce((sum, row) => sum + row.length, 0);
      if (tokens < ENOUGH) return notApplicable(`${ENOUGH} tokens in completions of several`);
      const alike = long.filter((row) => row.every((value) => value === row[0])).length;
      const measured = { completions: long.length, alike };
      return alike === long.length ? fail(measured) : pass(measured);
    },
  }),
];

/** Whether one side’s log-probs are those of another temperature. */
function temperatureOf(
  side: 'policy' | 'sampler',
  { plainScoring }: Probes,
  temperature: number | undefined,
  record: StepRecord,
): Outcome {
  const straight = plainScoring?.filter(({ shift }) => shift === 0) ?? [];
  const own = straight.find((setting) => setting.temperature === temperature);
  if (!own?.[side].tokens || straight.length < 2) return notApplicable(PATH);
  const best = nearest(straight, side);
  const measured = {
    declared: own.temperature,
    gap: own[side].mean,
    fits: best.temperature,
    gapThere: best[side].mean,
  };
  return judge(own[side].mean, best[side].mean, measured, record);
}

const nearest = (settings: readonly PlainScoring[], side: 'policy' | 'sampler') =>
  settings.reduce((a, b) => (b[side].mean < a[side].mean ? b : a));

/** Another setting explains what the declared one does not; neither, and it is something else. */
function judge(own: number, other: number, measured: Measured, record: StepRecord): Outcome {
  const tolerance = toleranceOf(record).mean;
  if (own <= tolerance) return pass(measured);
  return other <= tolerance ? fail(measured) : notApplicable('a setting that explains the difference');
}

/** The catalogue: every known fault by its number, and the checks of all of them in the order of diagnosis. */
import type { Check, FaultCode } from './check.js';
import type { Fault } from './fault.js';
import { b01 } from './faults/b01-template-mismatch.js';
import { b02 } from './faults/b02-rescored-prompt.js';
import { b03 } from './faults/b03-generation-prompt.js';
import { b04 } from './faults/b04-bos-count.js';
import { b05 } from './faults/b05-system-prompt.js';
import { b06 } from './faults/b06-stop-strings.js';
import { b07 } from './faults/b07-retokenised-completion.js';
import { b08 } from './faults/b08-untrained-end-token.js';
import { b09 } from './faults/b09-truncation.js';
import { b10 } from './faults/b10-left-padding-cut.js';
import { b11 } from './faults/b11-completion-mask.js';
import { b12 } from './faults/b12-pad-is-eos.js';
import { b13 } from './faults/b13-attention-mask.js';
import { b14 } from './faults/b14-scored-padding.js';
import { b15 } from './faults/b15-penalised-prompt.js';
import { b16 } from './faults/b16-sampler-end-tokens.js';
import { b17 } from './faults/b17-identical-completions.js';
import { b18 } from './faults/b18-sampling-override.js';
import { b19 } from './faults/b19-scoring-distribution.js';
import { b20 } from './faults/b20-reward-input.js';
import { b21 } from './faults/b21-misaligned-rewards.js';
import { b22 } from './faults/b22-failures-as-rewards.js';
import { b23 } from './faults/b23-grader-time-out.js';
import { b24 } from './faults/b24-mixed-judges.js';
import { b25 } from './faults/b25-reward-shaping.js';
import { b26 } from './faults/b26-reward-hacking.js';
import { b27 } from './faults/b27-strict-grader.js';
import { b28 } from './faults/b28-dead-reward.js';
import { b29 } from './faults/b29-nan-rewards.js';
import { b30 } from './faults/b30-flat-groups.js';
import { b31 } from './faults/b31-wrong-groups.js';
import { b32 } from './faults/b32-batch-whitening.js';
import { b33 } from './faults/b33-advantage-formula.js';
import { b34 } from './faults/b34-uncentred-advantages.js';
import { b35 } from './faults/b35-shifted-logits.js';
import { b36 } from './faults/b36-gather-index.js';
import { b37 } from './faults/b37-partial-scoring.js';
import { b38 } from './faults/b38-scoring-mode.js';
import { b39 } from './faults/b39-sampler-gap.js';
import { b40 } from './faults/b40-constant-ratio.js';
import { b41 } from './faults/b41-accumulation.js';
import { b42 } from './faults/b42-entropy-sign.js';
import { b43 } from './faults/b43-logged-loss.js';
import { b44 } from './faults/b44-skipped-micro-batches.js';
import { b45 } from './faults/b45-nothing-to-train-on.js';
import { b46 } from './faults/b46-padded-denominator.js';
import { b47 } from './faults/b47-policy-term.js';
import { b48 } from './faults/b48-kl-estimator.js';
import { b49 } from './faults/b49-kl-values.js';
import { b50 } from './faults/b50-beta-control.js';
import { b51 } from './faults/b51-reference-model.js';
import { b52 } from './faults/b52-lost-updates.js';
import { b53 } from './faults/b53-missing-gradients.js';
import { b54 } from './faults/b54-optimizer-settings.js';
import { b55 } from './faults/b55-stale-sampler.js';
import { b56 } from './faults/b56-data-leaks.js';
import { b57 } from './faults/b57-resume.js';
import { b58 } from './faults/b58-evaluation-mismatch.js';
import { b59 } from './faults/b59-configuration.js';
import { b60 } from './faults/b60-time-and-memory.js';
import { b61 } from './faults/b61-policy-collapse.js';
import { b62 } from './faults/b62-no-progress.js';
import { b63 } from './faults/b63-mask-plan.js';
import { b64 } from './faults/b64-denoising-order.js';
import { b65 } from './faults/b65-stale-prefix-cache.js';
import { b66 } from './faults/b66-mixed-weights.js';
import { b67 } from './faults/b67-log-prob-mode.js';
import { b68 } from './faults/b68-differing-ranks.js';
import { b69 } from './faults/b69-sampling-support.js';
import { type Finding, faultOf } from './finding.js';
import { h01 } from './handovers/h01-prompt.js';
import { h02 } from './handovers/h02-completion.js';
import { h03 } from './handovers/h03-reward.js';
import { h04 } from './handovers/h04-advantage.js';
import { h05 } from './handovers/h05-old-log-probs.js';
import { h06 } from './handovers/h06-gradient.js';
import { h07 } from './handovers/h07-update.js';
import { h08 } from './handovers/h08-weights.js';
import { h09 } from './handovers/h09-checkpoint.js';
import { h10 } from './handovers/h10-run.js';
import { h11 } from './handovers/h11-text.js';
import { h12 } from './handovers/h12-loss.js';
import { h13 } from './handovers/h13-kl.js';
import { h14 } from './handovers/h14-evaluation.js';
import { h15 } from './handovers/h15-model.js';
import { h16 } from './handovers/h16-metrics.js';
import { h17 } from './handovers/h17-choice.js';

/** Every known fault, by number. */
export const faults: readonly Fault[] = [
  b01,
  b02,
  b03,
  b04,
  b05,
  b06,
  b07,
  b08,
  b09,
  b10,
  b11,
  b12,
  b13,
  b14,
  b15,
  b16,
  b17,
  b18,
  b19,
  b20,
  b21,
  b22,
  b23,
  b24,
  b25,
  b26,
  b27,
  b28,
  b29,
  b30,
  b31,
  b32,
  b33,
  b34,
  b35,
  b36,
  b37,
  b38,
  b39,
  b40,
  b41,
  b42,
  b43,
  b44,
  b45,
  b46,
  b47,
  b48,
  b49,
  b50,
  b51,
  b52,
  b53,
  b54,
  b55,
  b56,
  b57,
  b58,
  b59,
  b60,
  b61,
  b62,
  b63,
  b64,
  b65,
  b66,
  b67,
  b68,
  b69,
];

/** Every hand-over that the audit compares. */
export const handOvers: readonly Fault[] = [
  h01,
  h02,
  h11,
  h03,
  h17,
  h04,
  h05,
  h13,
  h12,
  h06,
  h07,
  h08,
  h09,
  h10,
  h14,
  h15,
  h16,
];

/** The checks that judge an audit alone. */
export const audits: readonly Check[] = handOvers
  .flatMap(({ checks }) => checks)
  .filter(({ scope }) => scope === 'step');

/** Every check, in the order of diagnosis. */
export const registry: readonly Check[] = [...faults, ...handOvers]
  .flatMap(({ checks }) => checks)
  .sort((a, b) => a.level - b.level || a.rank - b.rank);

const faultByCode = new Map<FaultCode, Fault>([...faults, ...handOvers].map((fault) => [fault.code, fault]));
const checkByCode = new Map<Check['code'], Check>(registry.map((check) => [check.code, check]));

export const faultBy = (code: FaultCode): Fault => faultByCode.get(code)!;

/** The fault that a check belongs to. */
export const entryOf = (code: Check['code']): Fault => faultBy(faultOf(code));

export const checkOf = (code: Check['code']): Check => checkByCode.get(code)!;

/** What a finding says, one or two sentences. */
export const sentenceOf = ({ code, measured }: Finding): string => checkOf(code).says(measured);

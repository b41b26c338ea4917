/** The phases of a step, in the order in which it goes through them, and what the doctor says of each. */
import type { Check, Stage } from '../doctor/check.js';
import type { Diagnosis } from '../doctor/examine.js';
import type { Finding } from '../doctor/finding.js';
import { type Lack, lacksOf } from './lacks.js';

export const PHASES = [
  'prompt',
  'sample',
  'reward',
  'advantage',
  'log-prob',
  'loss',
  'gradient',
  'update',
  'before and after',
  'verdict',
] as const;

export type Phase = (typeof PHASES)[number];

/** The phase that the checks of a stage judge. */
const PHASE_OF: Readonly<Record<Stage, Phase>> = {
  data: 'prompt',
  template: 'prompt',
  // Ids that were scored, beside those that were sampled.
  tokens: 'log-prob',
  generation: 'sample',
  'weight sync': 'sample',
  reward: 'reward',
  advantage: 'advantage',
  logprob: 'log-prob',
  masks: 'loss',
  'mask plan': 'log-prob',
  loss: 'loss',
  kl: 'loss',
  optimizer: 'gradient',
  checkpoint: 'update',
  evaluation: 'before and after',
  configuration: 'verdict',
  performance: 'verdict',
};

/** What the doctor says of a phase. */
export interface PhaseVerdict {
  phase: Phase;
  /** Checks that could be judged, of those that the phase has. */
  judged: number;
  checks: number;
  /** Why the others were not judged. */
  lacks: readonly Lack[];
  findings: readonly Finding[];
}

/** The verdict of each phase but the last, whose own is that of the whole step. */
export function verdictsOf(
  { judgements, findings }: Pick<Diagnosis, 'judgements' | 'findings'>,
  checks: readonly Pick<Check, 'code' | 'scope' | 'stage'>[],
): PhaseVerdict[] {
  const stages = new Map<string, Stage>(checks.map(({ code, stage }) => [code, stage]));
  // The hand-over of the gradient is filed under the forward pass that it comes from.
  const phaseOf = ({ code }: { code: string }) =>
    code.startsWith('H06.') ? 'gradient' : PHASE_OF[stages.get(code)!];
  return PHASES.map((phase) => {
    const isOwn = (one: { code: string }) => phase === 'verdict' || phaseOf(one) === phase;
    const own = judgements.filter(isOwn);
    return {
      phase,
      judged: own.filter(({ judged }) => judged > 0).length,
      checks: own.length,
      lacks: lacksOf(own, checks),
      findings: findings.filter(isOwn),
    };
  });
}

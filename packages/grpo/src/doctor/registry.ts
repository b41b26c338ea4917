import type { Check } from './check.js';
import { advantageChecks } from './checks/advantage.js';
import { canaryChecks } from './checks/canaries.js';
import { endChecks } from './checks/end.js';
import { formatChecks } from './checks/format.js';
import { generationChecks } from './checks/generation.js';
import { gradingChecks } from './checks/grading.js';
import { klChecks } from './checks/kl.js';
import { betaLogChecks } from './checks/log-beta.js';
import { controlLogChecks } from './checks/log-control.js';
import { endLogChecks } from './checks/log-end.js';
import { kindLogChecks } from './checks/log-kinds.js';
import { microLogChecks } from './checks/log-micro.js';
import { monitorLogChecks } from './checks/log-monitors.js';
import { optimizerLogChecks } from './checks/log-optimizer.js';
import { policyLogChecks } from './checks/log-policy.js';
import { progressLogChecks } from './checks/log-progress.js';
import { rewardLogChecks } from './checks/log-reward.js';
import { runLogChecks } from './checks/log-run.js';
import { scoringLogChecks } from './checks/log-scoring.js';
import { signalLogChecks } from './checks/log-signal.js';
import { logprobChecks } from './checks/logprob.js';
import { lossChecks } from './checks/loss.js';
import { maskChecks } from './checks/masks.js';
import { objectiveChecks } from './checks/objective.js';
import { optimizerChecks } from './checks/optimizer.js';
import { rewardChecks } from './checks/reward.js';
import { rewardOrderChecks } from './checks/reward-order.js';
import { runChecks } from './checks/run.js';
import { samplingChecks } from './checks/sampling.js';
import { scoringChecks } from './checks/scoring.js';
import { templateChecks } from './checks/template.js';
import { tokenChecks } from './checks/tokens.js';
import { weightChecks } from './checks/weights.js';

/** Every check, in the order of diagnosis. */
export const registry: readonly Check[] = [
  ...templateChecks,
  ...formatChecks,
  ...tokenChecks,
  ...maskChecks,
  ...endChecks,
  ...generationChecks,
  ...samplingChecks,
  ...runChecks,
  ...scoringChecks,
  ...logprobChecks,
  ...rewardChecks,
  ...rewardOrderChecks,
  ...canaryChecks,
  ...gradingChecks,
  ...advantageChecks,
  ...lossChecks,
  ...weightChecks,
  ...objectiveChecks,
  ...klChecks,
  ...optimizerChecks,
  ...signalLogChecks,
  ...kindLogChecks,
  ...progressLogChecks,
  ...rewardLogChecks,
  ...scoringLogChecks,
  ...microLogChecks,
  ...policyLogChecks,
  ...betaLogChecks,
  ...controlLogChecks,
  ...endLogChecks,
  ...optimizerLogChecks,
  ...runLogChecks,
  ...monitorLogChecks,
].sort((a, b) => a.level - b.level);

import { Audit } from '../audit/audit.js';
import { probeCanaries } from '../observe/canaries.js';
import { type MetricsRow, metricsOf } from '../observe/metrics.js';
import { stepRecordOf } from '../observe/step-record.js';
import { StepRecorder } from '../observe/step-recorder.js';
import { grpoStep, NotFiniteError } from '../step/grpo-step.js';
import type { StepRecord } from '../trace/index.js';
import { GrpoTrainer } from './grpo-trainer.js';
import type { Run } from './open-run.js';

/** What the first step of a run shows. */
export interface Preflight {
  record: StepRecord;
  metrics: MetricsRow;
  seconds: number;
  /** What is to be told of the canaries. */
  news: readonly string[];
}

/**
 * Does the first step of a run with everything that can be measured of one: canaries, the second scoring, the audit. The
 * learning rate is the full one, without its warm-up. The run is spent then, and nothing of it is saved.
 *
 * @throws what a step throws, but for a gradient that is not finite: its record says why
 */
export async function preflight(run: Run): Promise<Preflight> {
  using trainer = await GrpoTrainer.open(run);
  const { config, supply } = trainer;
  const problems = supply.take(config.rollout.prompts);
  const start = performance.now();
  const canaries = await probeCanaries(trainer, 0);
  using recorder = new StepRecorder(trainer, { measureWeights: true, probeScoring: true });
  const audit = new Audit(trainer);
  const step = grpoStep(
    { ...trainer, observers: [recorder, ...audit.observers] },
    problems,
    0,
    config.optimizer.learningRate,
  );
  await step.catch((error: unknown) => {
    if (!(error instanceof NotFiniteError)) throw error;
  });
  const { recorded } = recorder;
  const tokens = recorded.batch.sampledTokens;
  return {
    record: stepRecordOf(trainer, recorded, 1, { canaries, audit: audit.record }),
    metrics: metricsOf(recorded, 1, { tokens, stepTokens: tokens, kindKey: config.kl.kindKey }),
    seconds: (performance.now() - start) / 1000,
    news: canaries?.news ?? [],
  };
}

import type { Decoder } from '../models/index.js';
import { describeFailures } from '../rewards/index.js';
import { DataOrder } from './data-order.js';
import { metricsOf } from './metrics.js';
import { openModel } from './model-source.js';
import type { StepRow } from './run-folder.js';
import { learningRateAt } from './schedule.js';
import { type RunEnd, runSteps, type Session } from './session.js';
import { SignalWatch } from './signal.js';
import { type Stages, stages as standardStages } from './stages.js';
import { grpoStep, type StepResult } from './step.js';
import type { Trainer } from './trainer.js';

/**
 * Trains a session's model with GRPO for `train.steps` steps.
 *
 * @param stages - your own stages in place of the standard ones
 */
export async function trainGrpo(session: Session, stages: Partial<Stages> = {}): Promise<RunEnd> {
  const { config, task, progress, folder, watcher } = session;
  const order = new DataOrder(task.train.length, config.seed);
  const reference = config.objective.beta > 0 ? openReference(session) : undefined;
  const trainer: Trainer = { ...session, reference, stages: { ...standardStages, ...stages } };
  const signal = new SignalWatch();
  try {
    return await runSteps(session, config.train.steps, async (step) => {
      const start = performance.now();
      const problems = order.at(step, config.rollout.prompts).map((i) => task.train[i]!);
      const rate = learningRateAt(config.optimizer, step, config.train.steps);
      const result = await grpoStep(trainer, problems, step, rate);
      const stepTokens = tokensOf(result);
      progress.tokens += stepTokens;
      folder.completions(completionRows(result, step + 1, config.rollout.group));
      const { failures } = result.rollout.rewardTable;
      if (failures.length > 0) watcher.note?.(`step ${step + 1}: ${describeFailures(failures)}`);
      const seconds = (performance.now() - start) / 1000;
      const row = metricsOf(result, step + 1, { tokens: progress.tokens, stepTokens }, seconds);
      const nothing = signal.after(row);
      if (nothing !== undefined) watcher.note?.(nothing);
      return row;
    });
  } finally {
    reference?.dispose();
  }
}

/** The frozen policy that the KL is measured to: the model as it was before the first step. */
function openReference({ config, model, progress }: Session): Decoder {
  return progress.step === 0 ? model.decoder.clone() : openModel(config).decoder;
}

/** As TRL counts them: a prompt once for each of its completions. */
function tokensOf({ rollout: { prompts, completions_B } }: StepResult): number {
  const group = completions_B.length / prompts.length;
  return completions_B.reduce(
    (sum, { ids }, b) => sum + ids.length + prompts[Math.floor(b / group)]!.ids.length,
    0,
  );
}

/** Rows of `completions.jsonl`. */
function completionRows({ rollout }: StepResult, step: number, group: number): StepRow[] {
  const { completions_B, prompts, rewardTable, rewards_B, advantages } = rollout;
  return completions_B.map((completion, b) => ({
    step,
    prompt: Math.floor(b / group),
    index: b % group,
    prompt_text: prompts[Math.floor(b / group)]!.text,
    completion: completion.text,
    finish_reason: completion.finishReason,
    length: completion.ids.length,
    reward: rewards_B[b],
    rewards: Object.fromEntries(rewardTable.names.map((name, k) => [name, rewardTable.columns[k]![b]])),
    advantage: advantages.advantages[b],
  }));
}

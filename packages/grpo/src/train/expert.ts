/**
 * Expert iteration: sample completions, keep the good ones, imitate them, repeat. The baseline beside GRPO: the same
 * problems, draws and rewards at every step, but nothing is learnt from the completions that failed.
 */
import { UserError } from '../errors/user-error.js';
import { permutation, seedOf } from '../maths/random.js';
import { describeFailures } from '../rewards/index.js';
import { type Rollout, tokensOf } from './batch.js';
import { completionRows } from './completion-rows.js';
import { keptMetrics, nothingKept, updateMetrics } from './expert-report.js';
import { keepGood } from './keep.js';
import { rolloutMetrics } from './metrics.js';
import { orderOf } from './mixed-order.js';
import { rollOut, withAdvantages } from './roll-out.js';
import { type RunEnd, runSteps } from './run-steps.js';
import { learningRateAt } from './schedule.js';
import type { Session } from './session.js';
import { type Example, type SftResult, sftStep } from './sft.js';
import { type Stages, stages as standardStages } from './stages.js';
import { Stopwatch } from './stopwatch.js';
import type { Trainer } from './trainer.js';

/**
 * Trains a session's model by expert iteration for `expert.iterations` rounds. A round is a step of the run: it is
 * evaluated, saved and resumed as one.
 *
 * @param stages - your own stages in place of the standard ones; those of the rollout are used
 * @throws UserError when nothing says which completions are good
 */
export async function trainExpert(session: Session, stages: Partial<Stages> = {}): Promise<RunEnd> {
  const { config, task, progress, folder, watcher } = session;
  const { expert, rollout: sizes, optimizer, sft } = config;
  if (!task.isCorrect && expert.threshold === undefined) {
    throw new UserError(`the task ${task.name} cannot tell a right completion from a wrong one`, {
      hint: 'Set expert.threshold: completions with at least this reward are kept.',
    });
  }
  const order = orderOf(task, config.seed);
  const trainer: Trainer = {
    ...session,
    // Nothing is learnt from a comparison: a group of equal rewards is as good as any.
    config: { ...config, groups: { ...config.groups, refills: 0, replay: 0 } },
    reference: undefined,
    stages: { ...standardStages, ...stages },
  };
  return runSteps(session, expert.iterations, async (iteration) => {
    const step = iteration + 1;
    const clock = new Stopwatch();
    const problems = order.at(iteration, sizes.prompts).map((i) => task.train[i]!);
    const rollout = withAdvantages(trainer, await rollOut(trainer, problems, iteration, clock));
    const kept = keepGood(rollout, task, expert);
    const examples = kept.map((b) => exampleOf(rollout, b));
    const schedule = { ...optimizer, learningRate: sft.learningRate };
    const learningRate = learningRateAt(schedule, iteration, expert.iterations);
    const updates = await clock.timeAsync('sft', () => imitate(session, examples, iteration, learningRate));

    const stepTokens = tokensOf(rollout);
    progress.tokens += stepTokens;
    const isKept = new Set(kept);
    folder.completions(completionRows(rollout, step, (b) => ({ kept: isKept.has(b) })));
    const { failures } = rollout.rewardTable;
    if (failures.length > 0) watcher.note?.(`step ${step}: ${describeFailures(failures)}`);
    if (kept.length === 0) watcher.note?.(`step ${step}: ${nothingKept(rollout, expert.threshold)}`);
    const metrics = {
      step,
      ...rolloutMetrics(rollout),
      ...keptMetrics(rollout, kept),
      ...updateMetrics(updates),
      learning_rate: learningRate,
      num_tokens: progress.tokens,
      step_tokens: stepTokens,
    };
    return { metrics, seconds: clock.seconds };
  });
}

/** A prompt and one of its completions, token for token as sampled. */
function exampleOf({ prompts, completions_B }: Rollout, b: number): Example {
  const group = completions_B.length / prompts.length;
  return { prompt: prompts[Math.floor(b / group)]!.ids, completion: completions_B[b]!.ids };
}

/** SFT on the examples for `expert.epochs` epochs, each in a new order; the last batch of one may be smaller. */
async function imitate(
  { config, model, optimizer, activationRoom, watch }: Session,
  examples: readonly Example[],
  iteration: number,
  learningRate: number,
): Promise<SftResult[]> {
  const { maxGradNorm } = config.optimizer;
  const { microBatchTokens, recompute } = config.train;
  const updates: SftResult[] = [];
  for (let epoch = 0; epoch < config.expert.epochs; epoch++) {
    const order = permutation(examples.length, config.seed, iteration, epoch);
    for (let start = 0; start < order.length; start += config.sft.batchSize) {
      const batch = order.slice(start, start + config.sft.batchSize).map((i) => examples[i]!);
      const dropout = { share: config.lora.dropout, seed: seedOf(config.seed, iteration, epoch, start) };
      const note = `Step ${iteration + 1} has changed the weights already: it is finished first.`;
      const options = {
        ...{ learningRate, maxGradNorm, microBatchTokens, recompute, activationRoom, dropout },
        watch: updates.length > 0 ? watch.finishing(note) : watch,
      };
      updates.push(await sftStep(model, optimizer, batch, options));
    }
  }
  return updates;
}

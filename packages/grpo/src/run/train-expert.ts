/**
 * Expert iteration: sample completions, keep the good ones, imitate them, repeat. The baseline beside GRPO: the same
 * problems, draws and rewards at every step, but nothing is learnt from the completions that failed.
 */
import { UserError } from '../errors/user-error.js';
import type { Example } from '../imitation/examples.js';
import { keptMetrics, nothingKept, updateMetrics } from '../imitation/expert-report.js';
import { keepGood } from '../imitation/keep.js';
import { type SftResult, sftStep } from '../imitation/sft.js';
import { permutation, seedOf } from '../maths/random.js';
import { completionRows } from '../observe/completion-rows.js';
import { rolloutMetrics } from '../observe/metrics.js';
import { Stopwatch } from '../observe/stopwatch.js';
import { describeFailures } from '../rewards/index.js';
import type { Batch } from '../step/batch.js';
import { compareRewards } from '../step/compare-rewards.js';
import { Control } from '../step/control.js';
import { joinObservers } from '../step/observer.js';
import { rollOut } from '../step/roll-out.js';
import { checkedStages, type Stages, stages as standardStages } from '../step/stages.js';
import type { Trainer } from '../step/trainer.js';
import { orderOf } from '../tasks/order/mixed-order.js';
import type { Run } from './open-run.js';
import { type RunEnd, runSteps } from './run-steps.js';
import { learningRateAt } from './schedule.js';

/**
 * Trains a run's model by expert iteration for `expert.iterations` rounds. A round is a step of the run: it is
 * evaluated, saved and resumed as one.
 *
 * @param stages - your own stages in place of the standard ones; those of the batch are used
 * @throws UserError when nothing says which completions are good
 */
export async function trainExpert(run: Run, stages: Partial<Stages> = {}): Promise<RunEnd> {
  const { config, task, progress, folder, watcher } = run;
  const { expert, rollout: sizes, optimizer, sft } = config;
  if (!task.isCorrect && expert.threshold === undefined) {
    throw new UserError(`the task ${task.name} cannot tell a right completion from a wrong one`, {
      hint: 'Set expert.threshold: completions with at least this reward are kept.',
    });
  }
  const order = orderOf(task, config.seed);
  const trainer: Trainer = {
    model: run.model,
    reference: undefined,
    task,
    optimizer: run.optimizer,
    // Nothing is learnt from a comparison: a group of equal rewards is as good as any.
    config: { ...config, groups: { ...config.groups, refills: 0, replay: 0 } },
    // What is imitated is scored over the whole vocabulary.
    sampling: { ...run.sampling, keepSupport: false },
    control: new Control(config),
    stages: { ...standardStages, sample: run.sample, ...checkedStages(stages) },
    watch: run.watch,
  };
  return runSteps(run, expert.iterations, async (iteration) => {
    const step = iteration + 1;
    const clock = new Stopwatch();
    const problems = order.at(iteration, sizes.prompts).map((i) => task.train[i]!);
    const batch = await rollOut(trainer, problems, iteration, joinObservers([clock]));
    compareRewards(trainer, batch);
    const kept = keepGood(batch, task, expert);
    const examples = kept.map((b) => exampleOf(batch, b));
    const schedule = { ...optimizer, learningRate: sft.learningRate };
    const learningRate = learningRateAt(schedule, iteration, expert.iterations);
    const updates = await clock.stage('sft', () => imitate(run, examples, iteration, learningRate));

    const stepTokens = batch.sampledTokens;
    progress.tokens += stepTokens;
    const isKept = new Set(kept);
    folder.completions(completionRows(batch, step, (b) => ({ kept: isKept.has(b) })));
    const { failures } = batch.rewardTable;
    if (failures.length > 0) watcher.note?.(`step ${step}: ${describeFailures(failures)}`);
    if (kept.length === 0) watcher.note?.(`step ${step}: ${nothingKept(batch, expert.threshold)}`);
    const metrics = {
      step,
      ...rolloutMetrics(batch),
      ...keptMetrics(batch, kept),
      ...updateMetrics(updates),
      learning_rate: learningRate,
      num_tokens: progress.tokens,
      step_tokens: stepTokens,
    };
    return { metrics, seconds: clock.seconds };
  });
}

/** A prompt and one of its completions, token for token as sampled. */
function exampleOf(batch: Batch, b: number): Example {
  return { prompt: batch.prompts[batch.problemOf(b)]!.ids, completion: batch.completions_B[b]!.ids };
}

/** SFT on the examples for `expert.epochs` epochs, each in a new order; the last batch of one may be smaller. */
async function imitate(
  { config, model, optimizer, activationRoom, watch }: Run,
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
      const seed = seedOf(config.seed, iteration, epoch, start);
      const note = `Step ${iteration + 1} has changed the weights already: it is finished first.`;
      const options = {
        ...{ learningRate, maxGradNorm, microBatchTokens, recompute, activationRoom, seed },
        dropout: config.lora.dropout,
        width: config.rollout.maxNewTokens,
        watch: updates.length > 0 ? watch.finishing(note) : watch,
      };
      updates.push(await sftStep(model, optimizer, batch, options));
    }
  }
  return updates;
}

import { examplesOf } from '../imitation/examples.js';
import { sftStep } from '../imitation/sft.js';
import { seedOf } from '../maths/random.js';
import { DataOrder } from '../tasks/order/data-order.js';
import type { Run } from './open-run.js';
import { type RunEnd, runSteps } from './run-steps.js';
import { learningRateAt } from './schedule.js';

/** Fine-tunes a run's model on its task's demonstrations for `sft.steps` steps. */
export async function trainSft(run: Run): Promise<RunEnd> {
  const { config, model, optimizer, task, progress, watch } = run;
  const { steps, batchSize, learningRate } = config.sft;
  const examples = examplesOf(model, task, watch.finishing());
  const order = new DataOrder(examples.length, config.seed);
  return runSteps(run, steps, async (step) => {
    const batch = order.at(step, batchSize).map((i) => examples[i]!);
    const rate = learningRateAt({ ...config.optimizer, learningRate }, step, steps);
    const result = await sftStep(model, optimizer, batch, {
      learningRate: rate,
      maxGradNorm: config.optimizer.maxGradNorm,
      microBatchTokens: config.train.microBatchTokens,
      recompute: config.train.recompute,
      activationRoom: run.activationRoom,
      dropout: config.lora.dropout,
      width: config.rollout.maxNewTokens,
      seed: seedOf(config.seed, step),
      watch,
    });
    const stepTokens = batch.reduce((sum, { prompt }) => sum + prompt.length, result.tokens);
    progress.tokens += stepTokens;
    const metrics = {
      step: step + 1,
      loss: result.loss,
      entropy: result.entropy,
      grad_norm: result.gradNorm,
      learning_rate: rate,
      'completions/mean_length': result.tokens / batch.length,
      num_tokens: progress.tokens,
      step_tokens: stepTokens,
    };
    return { metrics, seconds: {} };
  });
}

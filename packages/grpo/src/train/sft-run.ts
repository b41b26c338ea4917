import { seedOf } from '../maths/random.js';
import { DataOrder } from './data-order.js';
import { type RunEnd, runSteps } from './run-steps.js';
import { learningRateAt } from './schedule.js';
import type { Session } from './session.js';
import { examplesOf, sftStep } from './sft.js';

/** Fine-tunes a session's model on its task's demonstrations for `sft.steps` steps. */
export async function trainSft(session: Session): Promise<RunEnd> {
  const { config, model, optimizer, task, progress, watch } = session;
  const { steps, batchSize, learningRate } = config.sft;
  const examples = examplesOf(model, task);
  const order = new DataOrder(examples.length, config.seed);
  return runSteps(session, steps, async (step) => {
    const batch = order.at(step, batchSize).map((i) => examples[i]!);
    const rate = learningRateAt({ ...config.optimizer, learningRate }, step, steps);
    const result = await sftStep(model, optimizer, batch, {
      learningRate: rate,
      maxGradNorm: config.optimizer.maxGradNorm,
      microBatchTokens: config.train.microBatchTokens,
      recompute: config.train.recompute,
      activationRoom: session.activationRoom,
      dropout: { share: config.lora.dropout, seed: seedOf(config.seed, step) },
      watch,
    });
    const stepTokens = batch.reduce(
      (sum, { prompt, completion }) => sum + prompt.length + completion.length,
      0,
    );
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

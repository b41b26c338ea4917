import type { Tensor } from '@grpo/torch';
import { tidy } from '@grpo/torch';
import { learn, updateSize } from '../../step/accumulate-gradients.js';
import { type MicroBatch, microBatchAt } from '../../step/micro-batch.js';
import { joinObservers, type MicroBatchPass } from '../../step/observer.js';
import { cut } from '../../step/token-values.js';
import type { Comparison } from '../../trace/index.js';
import type { AuditContext } from '../context.js';
import { LossInputAudit } from '../loss/loss-input.js';

/** What the trainer's own stages make of the chosen completions. */
export interface TrainerPass {
  /** Log-probs of the policy, by the place of the completion. */
  logprobs: ReadonlyMap<number, Float32Array>;
  /** Of the first update; none of a loss that does not tell them. */
  ratios: ReadonlyMap<number, Float32Array>;
  /** Completions of each micro-batch. */
  sizes: readonly number[];
  /** Inputs of the loss that differ from the batch: a step of one micro-batch cannot show them. */
  misgiven: Comparison[];
}

/**
 * Does an update with the chosen completions alone, up to its gradients, and hands these to `use`; then none are left.
 */
export function runTrainer<T>(
  context: AuditContext,
  use: (pass: TrainerPass, gradients: ReadonlyMap<string, Tensor>) => T,
): T {
  const { trainer, batch, chosen, tell } = context;
  const { optimizer, config } = trainer;
  const logprobs = new Map<number, Float32Array>();
  const ratios = new Map<number, Float32Array>();
  const micros = microBatches(context);
  const iteration = batch.iterations[0]!;
  const given = new LossInputAudit(trainer);
  given.compared(batch);
  given.updateBegins({ iteration });
  const events = joinObservers([
    { microBatchDone: (pass) => note(pass, logprobs, ratios) },
    { microBatchDone: (pass) => given.microBatchDone(pass) },
  ]);
  const size = updateSize(iteration, chosen, config.objective);
  try {
    for (const micro of micros) tidy(() => learn(trainer, batch, micro, { iteration, size }, events, tell));
    const misgiven = given.measured
      .flatMap((measured) => ('comparisons' in measured ? measured.comparisons : []))
      .filter(({ deviation, bound }) => !(deviation <= bound));
    const sizes = micros.map(({ count }) => count);
    return use({ logprobs, ratios, sizes, misgiven }, optimizer.gradients);
  } finally {
    optimizer.zeroGrad();
  }
}

/**
 * Two micro-batches, but for two completions of one prompt, which they share in one: the first has all but the last. They
 * are more where micro-batches have to be smaller.
 */
function microBatches({ trainer, batch, chosen }: AuditContext): MicroBatch[] {
  const { microBatchTokens } = trainer.config.train;
  const groups = batch.groupsIn(batch.iterations[0]!);
  const isPair = chosen.length === 2 && batch.problemOf(chosen[0]!) === batch.problemOf(chosen[1]!);
  const parts = chosen.length > 1 && !isPair ? [chosen.slice(0, -1), chosen.slice(-1)] : [chosen];
  return parts.flatMap((members) => {
    const micros: MicroBatch[] = [];
    for (let from = 0; from < members.length; from += micros.at(-1)!.count)
      micros.push(microBatchAt(groups, members, from, microBatchTokens));
    return micros;
  });
}

function note(
  { micro, input, scores, output }: MicroBatchPass,
  logprobs: Map<number, Float32Array>,
  ratios: Map<number, Float32Array>,
): void {
  const rows = (values: Tensor | undefined | null) =>
    values ? cut(values.detach().toTypedArray() as Float32Array, input.lengths) : undefined;
  const [own, ratio] = [rows(scores.logprobs_T), rows(output.terms?.ratio_T)];
  for (const [i, b] of micro.members.entries()) {
    logprobs.set(b, own![i]!);
    if (ratio) ratios.set(b, ratio[i]!);
  }
}

/** A user's own loss: a module, loaded at run time without a build, and held to what a loss is. */
import { resolve } from 'node:path';
import * as torch from '@grpo/torch';
import { z } from 'zod';
import { UserError } from '../errors/user-error.js';
import type { Loss, LossOutput } from '../objective/index.js';
import { describeError } from '../rewards/describe-error.js';
import { describeExports, importModule } from '../rewards/user-code/import-module.js';

const EXAMPLE = `A loss takes a LossInput and returns { loss }, a scalar with a gradient:
  import { type Loss, TokenRows } from 'grpo';
  export default (({ logprobs_T, advantages, lengths, mask, update }) => {
    const rows = new TokenRows(lengths, mask, logprobs_T);
    const sums_B = rows.sum(logprobs_T).mul(rows.tensor(advantages));
    return { loss: sums_B.sum().div(-update.completions) };
  }) satisfies Loss;`;

/**
 * Loads the loss that `objective.module` names. It may import `grpo` and `@grpo/torch`, and gets those that run.
 *
 * @param module - a path, absolute or from the working directory
 * @returns the loss; what it returns is checked at each call
 * @throws UserError when the module cannot be loaded, or has no function as its default export
 */
export async function loadLoss(module: string): Promise<Loss> {
  const path = resolve(module);
  // As a program would see it, and not imported from above.
  const open = (file: string): Promise<unknown> => import(new URL(file, import.meta.url).href);
  const [grpo, rewards] = [await open('../index.js'), await open('../reward-exports.js')];
  const virtualModules = { grpo, 'grpo/rewards': rewards, '@grpo/torch': torch };
  const exported = await importModule('loss module', path, { virtualModules });
  const loss = exported.default;
  if (typeof loss !== 'function') {
    throw new UserError(
      `loss module ${path} has no function as its default export; it exports ${describeExports(exported)}`,
      { hint: EXAMPLE },
    );
  }
  return checkedLoss(`loss module ${path}`, loss as Loss);
}

/** The same loss, whose errors are a person's to act on. */
export function checkedLoss(name: string, loss: Loss): Loss {
  const wrong = (problem: string, cause?: unknown) =>
    new UserError(`${name} ${problem}`, { hint: EXAMPLE, cause });
  return (input) => {
    let output: unknown;
    try {
      output = loss(input);
    } catch (error) {
      // Less at once may do.
      if (torch.isOutOfMemory(error)) throw error;
      throw wrong(describeError(error), error);
    }
    const problem = problemOf(output, input.logprobs_T.numel);
    if (problem !== undefined) throw wrong(problem);
    return output as LossOutput;
  };
}

/** Columns of `metrics.jsonl` that the run computes: a loss's metric of the same name would overwrite them. */
const OF_THE_RUN =
  /^(step|step_tokens|num_tokens|loss|policy_loss|grad_norm|learning_rate|entropy|kl_penalty|reward|reward_std|reward_failures|micro_steps)$|^(completions|rewards|micro_steps|checksum)\/|^(frac_reward|live)_|^sampling\/(sampling_logp|token_mult)_/;

const share = z.object({ sum: z.number(), of: z.number() });
const numbers = z.record(z.string(), z.number());

/** What goes into records and metrics. */
const reportSchema = z.object({
  parts: z.array(z.object({ name: z.string(), coefficient: z.number(), value: z.number() })).optional(),
  metrics: z
    .object({ means: z.record(z.string(), share), least: numbers.optional(), most: numbers.optional() })
    .optional(),
});

/** What is wrong with the output of a loss of `tokens` tokens; undefined when nothing is. */
function problemOf(output: unknown, tokens: number): string | undefined {
  if (output instanceof Promise) return 'returned a promise; a loss is computed at once, without async';
  const { loss, terms = {} } = (output ?? {}) as Partial<LossOutput>;
  if (!(loss instanceof torch.Tensor)) return "returned no tensor 'loss'";
  if (loss.numel !== 1) return `returned a loss of shape [${loss.shape.join(', ')}]; sum it to one number`;
  if (!loss.requiresGrad)
    return 'returned a loss without a gradient: it is not computed from logprobs_T, or from a detached copy of them';
  for (const [name, values_T] of Object.entries(terms)) {
    if (values_T && values_T.numel !== tokens)
      return `returned terms.${name} of shape [${values_T.shape.join(', ')}]; it needs a value for each of the ${tokens} tokens`;
  }
  const report = reportSchema.safeParse(output);
  if (!report.success) return `returned what cannot be recorded\n${z.prettifyError(report.error)}`;
  const { means, least, most } = report.data.metrics ?? {};
  const taken = Object.keys({ ...means, ...least, ...most }).find((name) => OF_THE_RUN.test(name));
  return taken && `returned a metric '${taken}', which the run itself computes: take another name`;
}

/** A recorded rollout in place of one that is sampled: its prompts, its completions and its rewards. */

import { groupsOf } from '../../doctor/groups.js';
import { inputs } from '../../doctor/inputs.js';
import { planMasks } from '../../objective/index.js';
import type { FinishReason } from '../../rollout/completion.js';
import type { Completion } from '../../rollout/index.js';
import type { Stages } from '../../step/stages.js';
import type { Problem } from '../../tasks/task.js';
import type { Prompt } from '../../text/message.js';
import type { StepRecord } from '../../trace/index.js';

/** The problems of a step; their rows are as JSON has them. */
export function recordedProblems({ prompts }: StepRecord): Problem[] {
  const { messages = [], rows = [] } = prompts ?? {};
  return messages.map((prompt, p) => ({ prompt: prompt as Prompt, row: rows[p] }));
}

/** The stages that give what was recorded. */
export function recordedStages(record: StepRecord): Pick<Stages, 'render' | 'sample' | 'score' | 'plan'> {
  const { prompts, completions, rewards } = record;
  const promptIds = inputs.promptIds.from(record)!;
  const rendered = promptIds.map((ids, p) => ({ ids: [...ids], text: prompts!.texts![p]!, spans: [] }));
  const groups = groupsOf(completions!.prompt!).map((group) => group.map((b) => completionOf(record, b)));
  const { names = [], weights = [], values } = rewards!;
  const count = completions!.prompt!.length;
  // A KL that was taken from the rewards is taken again.
  const own = [...names.keys()].filter(
    (k) => names[k] !== 'kl_penalty' || record.declared?.kl?.place !== 'reward',
  );
  return {
    render: () => rendered,
    sample: () => Promise.resolve(groups),
    score: () =>
      Promise.resolve({
        names: own.map((k) => names[k]!),
        weights: own.map((k) => weights[k]!),
        columns: own.map((k) => values!.slice(k * count, (k + 1) * count)),
        unscored: Uint8Array.from(rewards!.totals!, (total) => Number(Number.isNaN(total))),
        failures: [],
      }),
    plan: (groups, settings, seed, at) =>
      planMasks(groups, settings, seed, at).map((own, b) => {
        const recorded = inputs.plans.from(record)?.[at.iteration]?.[b] ?? [];
        // Dropped groups were not scored, and have no plan.
        return recorded.length > 0 ? recorded : own;
      }),
  };
}

function completionOf(record: StepRecord, b: number): Completion {
  const { completions } = record;
  const ids = inputs.regions.from(record)?.[b];
  const order = inputs.orders.from(record)?.[b];
  const support = inputs.supports.from(record)?.[b];
  return {
    ids: [...inputs.ids.from(record)![b]!],
    text: completions!.texts![b]!,
    finishReason: completions!.finish![b] as FinishReason,
    logprobs: inputs.samplerLogprobs.from(record)![b]!,
    sampledLogprobs: inputs.sampledLogprobs.from(record)![b]!,
    ...(support && { support }),
    ...(ids && { region: { ids: [...ids], order: [...(order ?? [])] } }),
  };
}

import type { AdamW, GradientNorms } from '@grpo/torch';
import type { DiffusionSettings } from '../config/sections/diffusion.js';
import { counted } from '../errors/counted.js';
import { nearestName } from '../errors/nearest-name.js';
import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import type { Decoder, Model } from '../models/index.js';
import {
  type AdvantageSettings,
  type Advantages,
  advantagesOf,
  composedLoss,
  type Loss,
  type MaskPlan,
  type PlannedGroup,
  planMasks,
  type RewardColumns,
  type ScoredGroup,
  type ScoringOptions,
  scoreTokens,
  type TokenScores,
} from '../objective/index.js';
import type { Watch } from '../progress/watch.js';
import { type RewardTable, scoreCompletions } from '../rewards/index.js';
import { type Completion, type GroupRequest, type SamplingOptions, sample } from '../rollout/index.js';
import { renderProblems } from '../tasks/render-problems.js';
import type { Problem, Task } from '../tasks/task.js';
import type { RenderedPrompt } from '../text/render.js';
import type { Groups } from './micro-batch.js';

/**
 * The stages of a GRPO step, in order. Each is one function with typed input and output: a stage of your own takes the
 * place of one of these, and a fault is one that does its work wrongly.
 */
export interface Stages {
  /** Problems → text and ids, by the model's own template. */
  render(model: Model, problems: readonly Problem[]): RenderedPrompt[];
  /** Prompts → groups of completions. */
  sample(
    model: Model,
    requests: readonly GroupRequest[],
    options: SamplingOptions,
    seed: number,
    watch?: Watch,
  ): Promise<Completion[][]>;
  /** Completions → one column of rewards per function; failures marked. */
  score(
    task: Task,
    problems: readonly Problem[],
    groups: readonly Completion[][],
    onError: 'stop' | 'drop',
  ): Promise<RewardTable>;
  /** Sampled prompts and completions → the ids that are scored and trained on: the very same. */
  assemble(model: Model, sampled: Groups): Groups;
  /** For a masked-diffusion model: completions → the places that the passes of one iteration hide, by completion. */
  plan(
    groups: readonly PlannedGroup[],
    settings: DiffusionSettings,
    seed: number,
    place: { step: number; iteration: number },
  ): MaskPlan[];
  /** Rewards → advantages. */
  advantage(rewards: RewardColumns, groupSize: number, settings: AdvantageSettings): Advantages;
  /** Token log-probs and entropies under a decoder: the policy, or the reference. */
  logprob(
    decoder: Decoder,
    groups: readonly ScoredGroup[],
    temperature: number,
    options?: ScoringOptions,
  ): TokenScores;
  /** Log-probs and advantages → the loss. */
  objective: Loss;
  /** Accumulated gradients → new weights. */
  update(
    optimizer: AdamW,
    learningRate: number,
    maxGradNorm: number,
  ): { gradNorm: number } & Partial<GradientNorms>;
}

/** The standard stages, which a step runs unless you replace them. */
export const stages: Stages = {
  render: (model, problems) => renderProblems(model, problems),
  sample,
  score: (task, problems, groups, onError) => {
    const rows = problems.flatMap((problem, p) => groups[p]!.map((completion) => ({ problem, completion })));
    const batch = {
      prompts: rows.map(({ problem }) => problem.prompt),
      completions: rows.map(({ completion }) => completion.text),
      completionIds: rows.map(({ completion }) => completion.ids),
      rows: rows.map(({ problem }) => problem.row),
    };
    return scoreCompletions(task.rewards, batch, { onError });
  },
  assemble: (_model, sampled) => sampled,
  plan: planMasks,
  advantage: advantagesOf,
  logprob: scoreTokens,
  objective: composedLoss,
  update: (optimizer, learningRate, maxGradNorm) => optimizer.step(learningRate, maxGradNorm),
};

/**
 * Stages of somebody's own, each of which is held to the shape of what it returns: an error names the stage, not the place
 * where its result is used. The loss is held to it where its gradient is taken.
 *
 * @throws UserError for a name that no stage has
 */
export function checkedStages(own: Partial<Stages>): Partial<Stages> {
  for (const name of Object.keys(own)) {
    if (Object.hasOwn(stages, name)) {
      const stage: unknown = own[name as keyof Stages];
      if (stage === undefined || typeof stage === 'function') continue;
      throw new UserError(`the stage ${name} is a function; found ${excerpt(String(stage))}`);
    }
    const names = Object.keys(stages);
    throw new UserError(`there is no stage ${name}; did you mean ${nearestName(name, names)}?`, {
      hint: `The stages are ${names.join(', ')}.`,
    });
  }
  const { render, sample, score, assemble, plan, advantage, logprob, update } = own;
  return {
    ...own,
    ...(render && {
      render: (...args) => lists('render', render(...args), args[1].length, 'prompt', lackOfIds),
    }),
    ...(sample && {
      sample: async (...args) =>
        lists('sample', await sample(...args), args[1].length, 'group').map((group, p) =>
          lists('sample', group, args[1][p]!.count, 'completion', lackOfSampled),
        ),
    }),
    ...(score && {
      score: async (...args) => {
        const table = await score(...args);
        if (!Array.isArray(table?.names)) throw wrong('score', 'no names of rewards');
        const columns = lists('score', table.columns, table.names.length, 'column');
        for (const column of [...columns, table.unscored])
          lists('score', column, args[2].flat().length, 'value');
        return table;
      },
    }),
    ...(assemble && {
      assemble: (...args) => {
        const [given, made] = [args[1], assemble(...args)];
        lists('assemble', made?.prompts, given.prompts.length, 'prompt', lackOfIds);
        lists('assemble', made.completions_B, given.completions_B.length, 'completion', lackOfIds);
        return made;
      },
    }),
    ...(plan && {
      plan: (...args) => {
        const count = args[0].flatMap(({ completions }) => completions).length;
        return lists('plan', plan(...args), count, 'plan');
      },
    }),
    ...(advantage && {
      advantage: (...args) => {
        const made = advantage(...args);
        lists('advantage', made?.advantages, args[0].totals.length, 'advantage');
        return made;
      },
    }),
    ...(logprob && {
      logprob: (...args) => {
        const scores = logprob(...args);
        const tokens = args[1].flatMap(({ completions }) => completions).flat().length;
        const found = scores?.logprobs_T?.numel;
        if (found === tokens) return scores;
        throw wrong('logprob', `${found ?? 'no'} log-probs for ${counted(tokens, 'token')}`);
      },
    }),
    ...(update && {
      update: (...args) => {
        const norms = update(...args);
        if (typeof norms?.gradNorm === 'number') return norms;
        throw wrong('update', 'no gradNorm, the norm of the gradient');
      },
    }),
  };
}

/** The list, if it has so many elements, of which none lacks anything. */
function lists<L extends ArrayLike<unknown>>(
  stage: keyof Stages,
  list: L,
  count: number,
  what: string,
  lackOf: (element: L[number]) => string | undefined = () => undefined,
): L {
  if (typeof list?.length !== 'number') throw wrong(stage, `no list with ${counted(count, what)}`);
  if (list.length !== count)
    throw wrong(stage, `${counted(list.length, what)} where ${count} ${count === 1 ? 'is' : 'are'} due`);
  for (const [i, element] of Array.from(list).entries()) {
    const lack = element === undefined || element === null ? 'nothing in it' : lackOf(element);
    if (lack !== undefined) throw wrong(stage, `${what} ${i} with ${lack}`);
  }
  return list;
}

function lackOfIds({ ids }: { ids: readonly number[] }): string | undefined {
  if (!Array.isArray(ids)) return 'no list of ids';
  const bad = ids.find((id) => !Number.isInteger(id) || id < 0);
  return bad === undefined ? undefined : `the id ${bad}`;
}

function lackOfSampled({ text, logprobs, sampledLogprobs, ...tokens }: Completion): string | undefined {
  if (typeof text !== 'string') return 'no text';
  const lack = lackOfIds(tokens);
  if (lack !== undefined) return lack;
  const uneven = Object.entries({ logprobs, sampledLogprobs }).find(
    ([, values]) => values?.length !== tokens.ids.length,
  );
  return uneven && `${uneven[1]?.length ?? 'no'} ${uneven[0]} for ${counted(tokens.ids.length, 'id')}`;
}

const wrong = (stage: keyof Stages, found: string) =>
  new UserError(`your stage ${stage} returned ${found}`, {
    hint: `It takes the place of the standard one, which has the same input: stages.${stage}.`,
  });

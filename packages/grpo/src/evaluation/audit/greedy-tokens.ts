import { affordable } from '../../audit/chosen.js';
import type { Measured } from '../../audit/context.js';
import { lackOf } from '../../audit/model/audit-model.js';
import { samplingRules } from '../../audit/model/plain-step.js';
import { rawModel } from '../../audit/model/raw-model.js';
import { scoresMovedByRounding, widened } from '../../audit/model/rounding.js';
import { toleranceOf } from '../../audit/model/tolerance.js';
import { scoreSequences } from '../../audit/plain/plain-logprobs.js';
import { textPair } from '../../audit/text-pair.js';
import { worstOf } from '../../audit/worst.js';
import { sum } from '../../maths/moments.js';
import { permutation } from '../../maths/random.js';
import { weightCount } from '../../memory/holdings.js';
import { renderProblems } from '../../tasks/render-problems.js';
import type { Comparison } from '../../trace/index.js';
import { type EvalAuditContext, greedyOf, heldOut } from './context.js';

/** Completions whose tokens are computed again. */
const RESCORED = 4;

/** So few tokens have no mean: one that rounding sets behind another would be most of it. */
const FEW = 16;

/** The greedy completions: each token of some is the likeliest by the weights, and the text of each is that of its ids. */
export function compareGreedy(context: EvalAuditContext): Measured {
  const { trainer } = context;
  const { model, config } = trainer;
  const greedy = greedyOf(context);
  const comparisons = compareTexts(context);
  const prompts = renderProblems(model, heldOut(context));
  const lengthOf = (place: number) => prompts[place]!.ids.length + greedy[place]!.ids.length;
  const drawn = permutation(Math.min(greedy.length, prompts.length), config.seed, context.step).slice(
    0,
    RESCORED,
  );
  const missing = lackOfDecoding(trainer) ?? lackOf(trainer, drawn);
  if (missing !== undefined) return { comparisons, handOver: 'evaluation', missing };
  const chosen = affordable(drawn, lengthOf, weightCount(model.decoder.config));
  return { comparisons: [...comparisons, ...compareTokens(context, chosen, prompts)] };
}

/** Why the tokens need not be the likeliest by the plain path; undefined where they must be. */
function lackOfDecoding({ model, servers }: EvalAuditContext['trainer']): string | undefined {
  if (model.decoder.config.diffusion) return 'completions that are written token by token';
  // A server's kernels round otherwise than the bounds know.
  const isOwnEngine = servers?.records.every((server) => server.isOwnEngine) ?? true;
  return isOwnEngine ? undefined : 'completions that this engine decodes';
}

/** How far the tokens of the chosen completions lie behind the likeliest ones: the worst of each, and all together. */
function compareTokens(
  context: EvalAuditContext,
  chosen: readonly number[],
  prompts: readonly { ids: readonly number[] }[],
): Comparison[] {
  const { model, config } = context.trainer;
  const greedy = greedyOf(context);
  const { token, all, roundings } = toleranceOf(model.decoder.dtype);
  const rules = { ...samplingRules(context.trainer), temperature: 0 };
  const sequences = chosen.map((place) => ({ prompt: prompts[place]!.ids, completion: greedy[place]!.ids }));
  const plain = rawModel(model, model.decoder, config);
  const options = { temperature: 0, tell: context.tell, rulesOf: () => rules };
  const scores = scoreSequences(plain, sequences, 0, context.tell, options.rulesOf);
  const behind = scores.map(({ drawn }) => drawn.map((one) => one.behind!));
  const scored = sequences.map((one, i) => ({ ...one, scores: scores[i]! }));
  const moved = scoresMovedByRounding(plain, scored, options);
  const rmsOf = (nats: readonly number[]) =>
    Math.sqrt(sum(nats.map((one) => one ** 2)) / Math.max(FEW, nats.length));
  return widened(roundings, (besides) => {
    const allowed = behind.map((own, i) => own.map((_, t) => besides(() => moved()[i]!.behind[t]!)));
    const worst = behind.flatMap((distances, i) =>
      worstOf(
        'evaluation',
        `distance in nats of a greedy token of held-out problem ${chosen[i]! + 1} from the likeliest`,
        distances.map((found, t) => ({ found, plain: 0, bound: token + allowed[i]![t]! })),
      ),
    );
    const [found, bound] = [rmsOf(behind.flat()), all + rmsOf(allowed.flat())];
    const pair = { found, plain: 0, bound, compared: behind.flat().length };
    return [
      ...worst,
      ...worstOf('evaluation', 'root mean square distance in nats of greedy tokens from the likeliest', [
        pair,
      ]),
    ];
  });
}

/** The text that is graded is that of the ids. */
function compareTexts(context: EvalAuditContext): Comparison[] {
  const { tokenizer, endIds } = context.trainer.model;
  const pairs = greedyOf(context).map(({ ids, completion }) =>
    textPair(completion, tokenizer.decode(endIds.has(ids.at(-1)!) ? ids.slice(0, -1) : ids)),
  );
  return worstOf('evaluation', 'text of a greedy completion', pairs);
}

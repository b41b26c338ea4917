import { affordable } from '../../audit/chosen.js';
import type { Measured } from '../../audit/context.js';
import { lackOf } from '../../audit/model/audit-model.js';
import { compareRows } from '../../audit/model/compare-rows.js';
import { samplingRules } from '../../audit/model/plain-step.js';
import { rawModel } from '../../audit/model/raw-model.js';
import { type Moved, scoresMovedByRounding, widened } from '../../audit/model/rounding.js';
import { toleranceOf } from '../../audit/model/tolerance.js';
import { declaredDraw } from '../../audit/order/declared-draw.js';
import { type PlainScores, scoreSequences } from '../../audit/plain/plain-logprobs.js';
import { textPair } from '../../audit/text-pair.js';
import { worstOf } from '../../audit/worst.js';
import { sum } from '../../maths/moments.js';
import { permutation } from '../../maths/random.js';
import { weightCount } from '../../memory/holdings.js';
import { renderProblems } from '../../tasks/render-problems.js';
import type { Comparison } from '../../trace/index.js';
import type { EvalCompletion } from '../eval-completion.js';
import { EVAL_STREAM } from '../evaluate.js';
import { type EvalAuditContext, greedyOf, heldOut } from './context.js';

/** Completions of each kind whose tokens are computed again. */
const RESCORED = 4;
/** How many of these are the longest ones; the others are drawn. */
const LONGEST = 2;

/** So few tokens have no mean: one that rounding sets behind another would be most of it. */
const FEW = 16;

/** An evaluation's completions that are computed again, with the plain scores of their tokens. */
interface Rescored {
  completions: readonly EvalCompletion[];
  scores: readonly PlainScores[];
  /** How far rounding moves them; computed where it is asked for. */
  moved(): readonly Moved[];
}

/**
 * The completions: each token of some greedy ones is the likeliest by the weights, each of some sampled ones is that which
 * its random number draws at the declared temperature, and the text of each greedy one is that of its ids.
 */
export function compareTokens(context: EvalAuditContext): Measured[] {
  const { trainer, result } = context;
  const texts = { comparisons: compareTexts(context) };
  const greedy = greedyOf(context);
  const missing = lackOfDecoding(trainer) ?? lackOf(trainer, [...greedy.keys()]);
  if (missing !== undefined) return [texts, { handOver: 'evaluation', missing }];
  const sampled = result.completions.filter(({ decoding }) => decoding === 'sampled');
  const { temperature } = trainer.config.eval;
  return [
    texts,
    { comparisons: compareGreedy(context, rescored(context, greedy, 0)) },
    ...(sampled.length > 0 && temperature > 0
      ? [{ comparisons: compareDraws(context, rescored(context, sampled, temperature)) }]
      : []),
  ];
}

/** Why the tokens cannot be told by the plain path; undefined where they can. */
function lackOfDecoding({ model, servers }: EvalAuditContext['trainer']): string | undefined {
  if (model.decoder.config.diffusion) return 'completions that are written token by token';
  // A server's kernels round otherwise than the bounds know.
  const isOwnEngine = servers?.records.every((server) => server.isOwnEngine) ?? true;
  return isOwnEngine ? undefined : 'completions that this engine decodes';
}

/** The longest of the completions and others, drawn by seed and step: of a large model fewer. */
function rescored(
  context: EvalAuditContext,
  completions: readonly EvalCompletion[],
  temperature: number,
): Rescored {
  const { trainer, step, tell } = context;
  const { model, config } = trainer;
  const prompts = renderProblems(model, heldOut(context)).map(({ ids }) => ids);
  const judged = completions.filter(({ problem }) => prompts[problem]);
  const drawn = permutation(judged.length, config.seed, step);
  // Those that ran on when others had ended stand where a row of the batch may have moved.
  const longest = [...drawn].sort((a, b) => judged[b]!.ids.length - judged[a]!.ids.length);
  const some = [...new Set([...longest.slice(0, LONGEST), ...drawn])].slice(0, RESCORED);
  const lengthOf = (i: number) => prompts[judged[i]!.problem]!.length + judged[i]!.ids.length;
  const chosen = affordable(some, lengthOf, weightCount(model.decoder.config)).map((i) => judged[i]!);
  const sequences = chosen.map(({ problem, ids }) => ({ prompt: prompts[problem]!, completion: ids }));
  const rules = { ...samplingRules(trainer), temperature };
  const plain = rawModel(model, model.decoder, config);
  const options = { temperature, tell, rulesOf: () => rules };
  const scores = scoreSequences(plain, sequences, temperature, tell, options.rulesOf);
  const scored = sequences.map((one, i) => ({ ...one, scores: scores[i]! }));
  return { completions: chosen, scores, moved: scoresMovedByRounding(plain, scored, options) };
}

/** How far the greedy tokens lie behind the likeliest ones: the worst of each completion, and all together. */
function compareGreedy(
  { trainer }: EvalAuditContext,
  { completions, scores, moved }: Rescored,
): Comparison[] {
  const { token, all, roundings } = toleranceOf(trainer.model.decoder.dtype);
  const behind = scores.map(({ drawn }) => drawn.map((one) => one.behind!));
  const rmsOf = (nats: readonly number[]) =>
    Math.sqrt(sum(nats.map((one) => one ** 2)) / Math.max(FEW, nats.length));
  return widened(roundings, (besides) => {
    const allowed = behind.map((own, i) => own.map((_, t) => besides(() => moved()[i]!.behind[t]!)));
    const worst = behind.flatMap((distances, i) =>
      worstOf(
        'evaluation',
        `distance in nats of a greedy token of held-out problem ${completions[i]!.problem + 1} from the likeliest`,
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

/** The random numbers that draw the sampled tokens, beside those that the seed declares. */
function compareDraws({ trainer }: EvalAuditContext, { completions, scores, moved }: Rescored): Comparison[] {
  const { draw, roundings } = toleranceOf(trainer.model.decoder.dtype);
  const rows = completions.map(({ problem, index }, i) => {
    const plain = Float32Array.from(scores[i]!.drawn, (_, t) =>
      declaredDraw(trainer.config.seed, EVAL_STREAM, problem, index, t),
    );
    const found = plain.map((number, t) => {
      const [from, to] = scores[i]!.drawn[t]!.numbers!;
      return Math.min(Math.max(number, from), to);
    });
    return { completion: i, found, plain, moved: () => moved()[i]!.numbers };
  });
  const quantity = 'random number of a draw at the declared temperature of evaluations';
  return compareRows('evaluation', quantity, rows, { ...draw, roundings }).map(
    // The place is that of an evaluation: no completion of a step has it.
    ({ completion: _, ...one }) => one,
  );
}

/** The text that is graded is that of the ids. */
function compareTexts(context: EvalAuditContext): Comparison[] {
  const { tokenizer, endIds } = context.trainer.model;
  const pairs = greedyOf(context).map(({ ids, completion }) =>
    textPair(completion, tokenizer.decode(endIds.has(ids.at(-1)!) ? ids.slice(0, -1) : ids)),
  );
  return worstOf('evaluation', 'text of a greedy completion', pairs);
}

import { z } from 'zod';
import { UserError } from '../errors/user-error.js';
import { TokenSets } from '../formats/token-sets.js';
import { firstDifference } from '../maths/lists.js';
import { mean } from '../maths/moments.js';
import type { Model } from '../models/index.js';
import { plainSampling, type SamplingOptions } from '../rollout/index.js';
import type { RemoteCompletion, ServerAccess } from './dialect.js';
import { readAnswer, unlessUnknown } from './read-answer.js';
import { isKnownDtype } from './rounding-bound.js';
import { Refusal } from './server-error.js';
import { adapterOf, scoresOf } from './weight-probe.js';

/** Texts that tokenizers which are nearly the same split otherwise. */
const HARD_TEXTS = [
  ' leading,  double   spaces\tand\n\n\nlines \r\n',
  "It's we'll I'VE don’t 12345678 3.14159 1,000,000 1e-7",
  'naïve e\u0301 Ωμέγα Привет 東京タワー 한국어 العربية हिन्दी',
  '🙂👩‍👧‍👦 🇩🇪 \u200b\ufeff “quotes” … €',
  'def f(x):\n    return {"a": [x**2, -x]}  # <b>\\n</b>',
];

/** Draws of the completion by which the mode of log-probs is told. */
const SAMPLED = { count: 4, limit: 16 };
const STREAM = -4;

/** What a run asks of a server. */
export interface Wanted {
  model: Model;
  /** A prompt of the run. */
  prompt: readonly number[];
  temperature: number;
  /** The truncation of its sampling, where the ids that are left are to come with each token. */
  truncation?: Pick<SamplingOptions, 'topP' | 'topK' | 'minP'> | undefined;
  /** Log-probs of a completion are not to depend on the completions beside it. */
  invariant: boolean;
  maxNewTokens: number;
  seed: number;
}

/**
 * Holds a server to what a run asks of it, before the first step: tokenizer, vocabulary, length, number type, and what its
 * log-probs are, by measurement.
 *
 * @returns warnings
 * @throws UserError: it cannot serve the run; what the dialect throws
 */
export async function preflightServer(access: ServerAccess, wanted: Wanted): Promise<string[]> {
  requireSizes(access, wanted);
  requireInvariance(access, wanted);
  const warnings = [await compareTokenizers(access, wanted), dtypeWarning(access, wanted)];
  if (wanted.truncation) await requireSupport(access, wanted, wanted.truncation);
  else if (wanted.temperature !== 0 && wanted.temperature !== 1) await requireProcessed(access, wanted);
  return warnings.flatMap((one) => one ?? []);
}

function requireSizes(
  { server: { name }, facts: { vocabSize, maxModelLen } }: ServerAccess,
  { model, prompt, maxNewTokens }: Wanted,
): void {
  const own = model.decoder.config.vocabSize;
  if (vocabSize !== undefined && vocabSize !== own)
    throw new UserError(
      `${name} serves a model with a vocabulary of ${vocabSize} tokens; the model that is trained has ${own}`,
      { hint: 'Serve the model that is trained (model=…).' },
    );
  const length = prompt.length + maxNewTokens;
  if (maxModelLen !== undefined && maxModelLen < Math.min(length, model.decoder.config.maxPositions))
    throw new UserError(
      `${name} takes ${maxModelLen} tokens of prompt and completion together; a prompt of ${prompt.length} with rollout.maxNewTokens=${maxNewTokens} has ${length}`,
      { hint: `Start it with --max-model-len ${length} or more, or set a smaller rollout.maxNewTokens.` },
    );
}

/** Our own engine refuses where log-probs depend on a batch; of others nobody knows. */
function requireInvariance({ server: { name }, facts }: ServerAccess, { invariant }: Wanted): void {
  if (!invariant || facts.isGrpo) return;
  throw new UserError(
    `${name} is ${facts.software}: the log-probs of a completion may depend on those beside it, which rollout.invariant=true rules out`,
    { hint: 'Sample by grpo serve on a CPU, or set rollout.invariant=false.' },
  );
}

const tokenized = z.object({ tokens: z.array(z.int()) });

/**
 * Compares ids of hard texts, and of a prompt of the run.
 *
 * @returns a warning, where the server does not tokenize
 * @throws UserError: the server has another tokenizer
 */
export async function compareTokenizers(
  { server, facts, signal }: Pick<ServerAccess, 'server' | 'facts' | 'signal'>,
  { model: { tokenizer }, prompt }: Pick<Wanted, 'model' | 'prompt'>,
): Promise<string | undefined> {
  for (const text of [...HARD_TEXTS, tokenizer.decode(prompt)]) {
    const body = { model: facts.model, prompt: text, add_special_tokens: false };
    const answer = await unlessUnknown(server.post('/tokenize', body, signal));
    if (!answer)
      return `${server.name} has no /tokenize: its tokenizer was not compared. Ids go out and come back, so only a server of another model would be wrong.`;
    const { tokens } = readAnswer('/tokenize', tokenized, answer);
    const own = tokenizer.encode(text);
    const place = firstDifference(tokens, own);
    if (place !== undefined)
      throw new UserError(
        `${server.name} has another tokenizer: token ${place + 1} of ${JSON.stringify(text.slice(0, 60))} is ${tokens[place] ?? 'missing'} there and ${own[place] ?? 'missing'} here`,
        { hint: 'Serve a model with the tokenizer of the one that is trained (vLLM: --tokenizer).' },
      );
  }
  return undefined;
}

function dtypeWarning({ server, facts }: ServerAccess, { model }: Wanted): string | undefined {
  const { dtype } = model.decoder;
  if (facts.dtype === undefined || facts.dtype === dtype) return undefined;
  const finer = isKnownDtype(facts.dtype) ? '' : ', a type that this trainer does not know';
  return `${server.name} computes in ${facts.dtype}${finer}, the trainer in ${dtype}: their log-probs differ by the rounding of the coarser one, about 0.01 to 0.1 nats per token in half precision. Start it with --dtype ${dtype}, or weigh tokens by correction.level=token.`;
}

/** A few completions of the prompt. */
const sampled = (
  access: ServerAccess,
  { model, prompt, temperature, seed }: Wanted,
  options: Partial<SamplingOptions> = {},
): Promise<RemoteCompletion[]> =>
  access.dialect.generate(access.server, access.facts, {
    ...SAMPLED,
    prompt,
    options: { ...plainSampling, temperature, ...options },
    endIds: model.endIds,
    seed,
    keys: [STREAM],
    adapter: adapterOf(access),
    signal: access.signal,
  });

/** Mean distance of the server's log-probs from the trainer's. */
const distance = (completions: readonly RemoteCompletion[], scores: readonly Float32Array[]): number =>
  mean(
    completions.flatMap(({ logprobs }, i) =>
      logprobs.flatMap((value, t) => (value === null ? [] : Math.abs(value - scores[i]![t]!))),
    ),
  );

/** Whether each token comes with the ids that it was drawn from, and with its log-prob over these. */
async function requireSupport(
  access: ServerAccess,
  wanted: Wanted,
  truncation: NonNullable<Wanted['truncation']>,
): Promise<void> {
  const { server, dialect } = access;
  const { model, prompt, temperature } = wanted;
  const hint = `${dialect.supportHint} Or train on what is drawn from the whole vocabulary: rollout.topP=1 rollout.topK=0 rollout.minP=0.`;
  let completions: RemoteCompletion[];
  try {
    completions = await sampled(access, wanted, { ...truncation, keepSupport: true });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new UserError(`${server.name} does not tell the ids that sampling kept: ${error.message}`, {
      hint,
    });
  }
  const sets = completions.map(({ ids, support }) =>
    support?.length === ids.length && ids.every((id, t) => support[t]!.includes(id))
      ? TokenSets.of(support.map((kept) => [...new Set(kept)].sort((a, b) => a - b)))
      : undefined,
  );
  if (sets.includes(undefined))
    throw new UserError(
      `${server.name} does not tell the ids that sampling kept, among them the one that was drawn: with rollout.topP, topK or minP the log-probs are over these`,
      { hint },
    );
  const all = completions.map(({ ids }) => ids);
  const over = distance(completions, scoresOf(model, prompt, all, temperature, sets));
  const whole = distance(completions, scoresOf(model, prompt, all, temperature));
  if (!(whole < over / 2)) return;
  throw new UserError(
    `${server.name} answers with log-probs from before the truncation: those of ${SAMPLED.count} completions lie ${whole.toPrecision(2)} nats per token from the trainer's over the whole vocabulary, and ${over.toPrecision(2)} from those over the ids that were kept`,
    { hint },
  );
}

/** Whether log-probs are those of the distribution that was drawn from: by the trainer's at both temperatures. */
async function requireProcessed(access: ServerAccess, wanted: Wanted): Promise<void> {
  const { server } = access;
  const { model, prompt, temperature } = wanted;
  const completions = await sampled(access, wanted);
  const own = (at: number) =>
    scoresOf(
      model,
      prompt,
      completions.map(({ ids }) => ids),
      at,
    );
  const [processed, raw] = [temperature, 1].map((at) => distance(completions, own(at))) as [number, number];
  if (!(raw < processed / 2)) return;
  throw new UserError(
    `${server.name} answers with log-probs from before the temperature: those of ${SAMPLED.count} completions sampled at temperature ${temperature} lie ${raw.toPrecision(2)} nats per token from the trainer's at temperature 1, and ${processed.toPrecision(2)} from those at ${temperature}`,
    { hint: 'Start vLLM with --logprobs-mode processed_logprobs, or set rollout.temperature=1.' },
  );
}

import { keep, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { uniform } from '../maths/random.js';
import { logitRows } from '../memory/denoising.js';
import { type Attend, type Model, packSegments, weightsChecksum } from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import type { Completion } from './completion.js';
import { type CompletionRequest, failOnLogits } from './completion-requests.js';
import { type DenoisingStep, denoisingSchedule } from './denoising-schedule.js';
import { draw, truncates } from './distribution.js';
import type { SamplingLot } from './sampling-lot.js';
import { endingOf } from './stop.js';

/** A completion in the making. */
interface Row extends CompletionRequest {
  schedule: readonly DenoisingStep[];
  /** What the model sees: the prompt, and the region with the mask at the places that are not filled yet. */
  input: number[];
  /** The step that filled each place; -1 where none did yet. */
  order: number[];
  logprobs: Float32Array;
  sampledLogprobs: Float32Array;
  /** Whether its beginning, up to and with some token, ends there. */
  ends(ids: readonly number[]): boolean;
}

/** A masked place of the block that is being filled, and what was drawn for it. */
interface Candidate {
  row: Row;
  place: number;
  /** The packed token whose logits predict it. */
  predictor: number;
  token: number;
  logprob: number;
  sampledLogprob: number;
  /** The places where it is highest are filled. */
  confidence: number;
}

/** Whether its log-probs are of other logits than the model's own. */
const isScaled = ({ row }: Candidate) => row.options.temperature !== 0 && row.options.temperature !== 1;

/** Distinguishes the random order of filling from the draws of tokens. */
const ORDER = 1;

/**
 * A lot of completions of a masked-diffusion model. Each step computes prompts and regions whole, draws a token for every
 * masked place of the current block, and keeps those that it is surest of, or random ones (LLaDA, Nie et al., 2025).
 */
export class Denoising implements SamplingLot {
  readonly finished: { row: Row; completion: Completion }[] = [];
  tokens = 0;
  #rows: Row[];
  #step = 0;
  /** Part of the current step that is done. */
  #passed = 0;
  readonly #total: number;
  /** Tokens that are not drawn, bool `[V]`: the mask; and at places where a completion may not end the end tokens. */
  readonly #forbidden: { always: Tensor; beforeEnd: Tensor };
  /** Rows of logits that are drawn from at once. */
  readonly #logitRows: number;
  readonly #weights: number;

  /** @param lotBytes - bounds how many logits are computed together */
  constructor(
    private readonly model: Model,
    requests: readonly CompletionRequest[],
    lotBytes: number,
  ) {
    const { decoder, endIds } = model;
    const { config, engine, device } = decoder;
    const shape = config.diffusion!;
    const rows = requests.map((request): Row => {
      const { prompt, limit, options } = request;
      return {
        ...request,
        schedule: denoisingSchedule(limit, options.maxNewTokens, options.diffusion, shape),
        input: [...prompt, ...Array<number>(limit).fill(shape.maskId)],
        order: Array<number>(limit).fill(-1),
        logprobs: new Float32Array(limit),
        sampledLogprobs: new Float32Array(limit),
        ends: endingOf(model, options),
      };
    });
    // Neighbours of one length share a call of attention.
    this.#rows = rows.sort((a, b) => a.input.length - b.input.length);
    this.#total = rows.length;
    const flags = (ids: Iterable<number>) => {
      const flags_V = new Uint8Array(config.vocabSize);
      for (const id of ids) flags_V[id] = 1;
      return keep(tensor(flags_V, undefined, { dtype: 'bool', device }));
    };
    this.#forbidden = { always: flags([shape.maskId]), beforeEnd: flags([shape.maskId, ...endIds]) };
    const adjusted = rows.some(({ options }) => truncates(options));
    this.#logitRows = logitRows(config, engine, lotBytes, adjusted);
    this.#weights = weightsChecksum(decoder);
  }

  get active(): number {
    return this.#rows.length;
  }

  get share(): number {
    const done = this.#step + this.#passed;
    return this.#rows.reduce((sum, { schedule }) => sum + done / schedule.length, this.#total - this.active);
  }

  advance(_watch: Watch, report: () => void): void {
    noGrad(() => tidy(() => this.#denoise(report)));
    this.#passed = 0;
    this.#step++;
    const isFinished = ({ schedule }: Row) => schedule.length === this.#step;
    for (const row of this.#rows.filter(isFinished))
      this.finished.push({ row, completion: this.#complete(row) });
    this.#rows = this.#rows.filter((row) => !isFinished(row));
  }

  dispose(): void {
    this.#forbidden.always.dispose();
    this.#forbidden.beforeEnd.dispose();
  }

  /** Computes the sequences, and fills places of each. */
  #denoise(report: () => void): void {
    const { decoder } = this.model;
    const { config, device } = decoder;
    const { maskId, shifted } = config.diffusion!;
    const { inputs, inputOf } = this.#distinctInputs();
    const packed = packSegments(
      inputs.map((ids) => ({ ids })),
      config,
      device,
      decoder.dtype,
    );
    const attend: Attend = (layer, ...qkv) => {
      this.#passed = layer / config.layers;
      report();
      return packed.attend(layer, ...qkv);
    };
    const hidden_ND = decoder.hidden(packed, attend);
    const candidates = this.#rows.map((row, r) => {
      const { start, end } = row.schedule[this.#step]!;
      const first = packed.starts[inputOf[r]!]! + row.prompt.length - (shifted ? 1 : 0);
      const masked: Candidate[] = [];
      for (let place = start; place < end; place++) {
        if (row.input[row.prompt.length + place] !== maskId) continue;
        const predictor = first + place;
        masked.push({ row, place, predictor, token: 0, logprob: 0, sampledLogprob: 0, confidence: 0 });
      }
      return masked;
    });
    this.#passed = 1;
    this.#drawAll(hidden_ND, candidates.flat(), report);
    for (const [r, row] of this.#rows.entries()) this.#fill(row, candidates[r]!);
  }

  /** What neighbours see alike is computed once, as a group's first step is; and for each row, which input is its own. */
  #distinctInputs(): { inputs: (readonly number[])[]; inputOf: number[] } {
    const inputs: (readonly number[])[] = [];
    const inputOf = this.#rows.map(({ input }) => {
      const last = inputs.at(-1);
      const isSame = last?.length === input.length && input.every((id, i) => id === last[i]);
      return (isSame ? inputs.length : inputs.push(input)) - 1;
    });
    return { inputs, inputOf };
  }

  #drawAll(hidden_ND: Tensor, candidates: readonly Candidate[], report: () => void): void {
    const { always, beforeEnd } = this.#forbidden;
    const mayEnd = ({ row, place }: Candidate) => place >= row.options.minNewTokens;
    // Those with the same predictor side by side: its row is projected once.
    const sorted = [...candidates].sort((a, b) => a.predictor - b.predictor);
    for (const [forbidden, some] of [
      [beforeEnd, sorted.filter((candidate) => !mayEnd(candidate))],
      [always, sorted.filter(mayEnd)],
    ] as const) {
      for (let from = 0; from < some.length; from += this.#logitRows) {
        report();
        tidy(() => this.#draw(hidden_ND, some.slice(from, from + this.#logitRows), forbidden));
      }
    }
  }

  /** Draws a token for each of these places; only the rows that predict them are projected to the vocabulary. */
  #draw(hidden_ND: Tensor, candidates: readonly Candidate[], forbidden_V: Tensor): void {
    const { decoder } = this.model;
    const on = { dtype: 'int64', device: decoder.device } as const;
    const index = (places: number[]) => tensor(places, undefined, on);
    const predictors = [...new Set(candidates.map(({ predictor }) => predictor))];
    const projected = decoder.logits(hidden_ND.indexSelect(0, index(predictors)));
    const rowOf = new Map(predictors.map((predictor, row) => [predictor, row]));
    const logits_MV =
      predictors.length === candidates.length
        ? projected
        : projected.indexSelect(0, index(candidates.map(({ predictor }) => rowOf.get(predictor)!)));
    const numberOf = ({ row, place }: Candidate, ...keys: number[]) =>
      uniform(row.seed, ...row.keys, row.index, this.#step, place, ...keys);
    const rules = candidates.map((candidate) => ({
      ...{ options: candidate.row.options, generated: [], mayEnd: false },
      uniform: candidate.row.options.temperature === 0 ? 0 : numberOf(candidate),
    }));
    const { tokens, logprobs, sampledLogprobs } = draw(logits_MV, rules, forbidden_V);
    const plainLogprobs = () => {
      const tokens_M1 = tensor(tokens, [tokens.length, 1], on);
      return logits_MV.logSoftmax(-1).gather(1, tokens_M1).toTypedArray() as Float32Array;
    };
    const plain_M = candidates.some(isScaled) ? plainLogprobs() : logprobs;
    for (const [i, candidate] of candidates.entries()) {
      const [logprob, sampledLogprob] = [logprobs[i]!, sampledLogprobs[i]!];
      const isRandom = candidate.row.options.diffusion.remasking === 'random';
      const confidence = isRandom
        ? numberOf(candidate, ORDER)
        : (isScaled(candidate) ? plain_M : logprobs)[i]!;
      if (!Number.isFinite(logprob) || !Number.isFinite(sampledLogprob))
        failOnLogits(candidate.row, candidate.place + 1);
      Object.assign(candidate, { token: tokens[i]!, logprob, sampledLogprob, confidence });
    }
  }

  /** Fills as many places as this step may, those of the highest confidence. */
  #fill(row: Row, candidates: readonly Candidate[]): void {
    const { count } = row.schedule[this.#step]!;
    // Sorting is stable: of equal ones the first.
    const best = [...candidates].sort((a, b) => b.confidence - a.confidence).slice(0, count);
    for (const { place, token, logprob, sampledLogprob } of best) {
      row.input[row.prompt.length + place] = token;
      row.order[place] = this.#step;
      row.logprobs[place] = logprob;
      row.sampledLogprobs[place] = sampledLogprob;
    }
    this.tokens += best.length;
  }

  /** The region up to its first end, or all of it. */
  #complete({ prompt, input, order, logprobs, sampledLogprobs, ends }: Row): Completion {
    const { tokenizer, endIds } = this.model;
    const region = input.slice(prompt.length);
    const end = region.findIndex((_, last) => ends(region.slice(0, last + 1)));
    const ids = end < 0 ? region : region.slice(0, end + 1);
    return {
      ids,
      text: tokenizer.decodeCompletion(ids, { endIds }),
      finishReason: end < 0 ? 'length' : 'stop',
      logprobs: logprobs.slice(0, ids.length),
      sampledLogprobs: sampledLogprobs.slice(0, ids.length),
      weights: this.#weights,
      region: { ids: region, order },
    };
  }
}

import { decodeAttention, keep, Recording, type Tensor, tensor, tidy, zeros } from '@grpo/torch';
import { BLOCK, blocksOf, JOINING } from '../memory/decoding.js';
import { type Decoder, type DecodingDecoder, type PackedTokens, scoresOf } from '../models/index.js';
import type { DecodingCache, SharedPrompt } from './decoding-cache.js';

/** Keys and values of a layer, of the prompts or of the rows: a block holds `BLOCK` tokens. */
interface Stored {
  /** `[count, kvHeads, blocks, width, BLOCK]`. */
  keys: Tensor;
  /** `[count, kvHeads, blocks × BLOCK, width]`. */
  values: Tensor;
}

/** A row: its place, its prompt and the tokens that each holds, which the attention reads, and its room in blocks. */
interface Row {
  place: number;
  prompt: number;
  promptLength: number;
  length: number;
  blocks: number;
}

/** Places for prompts or rows, and the blocks of each. */
interface Room {
  count: number;
  blocks: number;
}

const NONE: Room = { count: 0, blocks: 0 };

/**
 * Keys and values in the layout of `grpo::decode_attention`, which writes and reads them in place. A row has a place of
 * its own and knows its prompt and its length; one that left is not in the table any more, and costs nothing. Who joins
 * takes free places; where these are too few or too short, all move into larger ones.
 */
export class FusedCache implements DecodingCache {
  #prompts: Stored[] = [];
  #own: Stored[] = [];
  #promptRoom = NONE;
  #ownRoom = NONE;
  #rows: Row[] = [];
  /** Places of the prompts that joined last. */
  #joined: number[] = [];
  /** A decode step, recorded. */
  #step: { decoder: DecodingDecoder; calls: Recording } | undefined;

  constructor(private readonly decoder: Pick<Decoder, 'config' | 'dtype' | 'device'>) {}

  join(prompts: readonly SharedPrompt[]): void {
    const joining = prompts.flatMap((prompt, p) =>
      Array.from({ length: prompt.count }, () => ({ prompt, p })),
    );
    this.#makeRoom(prompts, joining.length);
    this.#joined = freePlaces(this.#rows, ({ prompt }) => prompt, prompts.length);
    const places = freePlaces(this.#rows, ({ place }) => place, joining.length);
    for (const [i, { prompt, p }] of joining.entries())
      this.#rows.push({
        place: places[i]!,
        prompt: this.#joined[p]!,
        promptLength: prompt.length,
        length: 0,
        blocks: blocksOf(prompt.newTokens),
      });
  }

  storePrompt(layer: number, prompt: number, k_PKD: Tensor, v_PKD: Tensor): void {
    const { keys, values } = this.#prompts[layer]!;
    const place = this.#joined[prompt]!;
    const [length, kvHeads, width] = k_PKD.shape as [number, number, number];
    values.select(0, place).narrow(1, 0, length).narrow(2, 0, width).copy_(v_PKD.transpose(0, 1));
    const blocks = keys.select(0, place).narrow(2, 0, width);
    const whole = Math.floor(length / BLOCK);
    const rest = length % BLOCK;
    blocks.narrow(1, 0, whole).copy_(
      k_PKD
        .narrow(0, 0, whole * BLOCK)
        .reshape([whole, BLOCK, kvHeads, width])
        .permute([2, 0, 3, 1]),
    );
    if (rest > 0)
      blocks
        .select(1, whole)
        .narrow(2, 0, rest)
        .copy_(k_PKD.narrow(0, whole * BLOCK, rest).permute([1, 2, 0]));
  }

  hidden(decoder: DecodingDecoder, { ids_N, positions_N }: PackedTokens): Tensor {
    const table = this.#rows.flatMap(({ place, prompt, promptLength, length }) => [
      place,
      prompt,
      promptLength,
      length,
    ]);
    const rows_N4 = tensor(table, [this.#rows.length, 4], { dtype: 'int64' });
    const hidden = this.#stepOf(decoder).run(ids_N, positions_N, rows_N4);
    for (const row of this.#rows) row.length++;
    return hidden;
  }

  drop(rows: readonly number[]): void {
    for (const row of rows) {
      const last = this.#rows.pop()!;
      if (row < this.#rows.length) this.#rows[row] = last;
    }
    if (this.#rows.length === 0) this.dispose();
  }

  dispose(): void {
    this.#forgetStep();
    for (const stored of [...this.#prompts, ...this.#own]) disposeStored(stored);
    [this.#prompts, this.#own, this.#rows] = [[], [], []];
    [this.#promptRoom, this.#ownRoom] = [NONE, NONE];
  }

  /** A step of this decoder on the tensors that are there, whatever rows have places in them. */
  #stepOf(decoder: DecodingDecoder): Recording {
    if (this.#step?.decoder !== decoder) {
      this.#forgetStep();
      const calls = new Recording((ids_N, positions_N, rows_N4) =>
        this.#compute(decoder, { ids_N, positions_N }, rows_N4),
      );
      this.#step = { decoder, calls };
    }
    return this.#step!.calls;
  }

  #compute(decoder: DecodingDecoder, tokens: PackedTokens, rows_N4: Tensor): Tensor {
    const { config } = this.decoder;
    return decoder.decode(tokens, (layer, [q, k, v], { rotation, queryNorm, keyNorm }) => {
      const [own, prompt] = [this.#own[layer]!, this.#prompts[layer]!];
      const [cos, sin] = rotation ? [rotation.cos, rotation.sin] : [null, null];
      const stored = [own.keys, own.values, prompt.keys, prompt.values] as const;
      const turning = [cos, sin, queryNorm, keyNorm] as const;
      const scores = scoresOf(config, layer);
      return decodeAttention(q, k, v, ...stored, rows_N4, ...turning, config.normEps, scores);
    });
  }

  #forgetStep(): void {
    this.#step?.calls.dispose();
    this.#step = undefined;
  }

  /** Moves what is there into larger places, unless there are enough free ones. */
  #makeRoom(joining: readonly SharedPrompt[], rows: number): void {
    const there = [...new Set(this.#rows.map(({ prompt }) => prompt))];
    const prompts: Room = {
      count: there.length + joining.length,
      blocks: Math.max(
        ...joining.map(({ length }) => blocksOf(length)),
        ...this.#rows.map(({ promptLength }) => blocksOf(promptLength)),
      ),
    };
    const own: Room = {
      count: this.#rows.length + rows,
      blocks: Math.max(
        ...joining.map(({ newTokens }) => blocksOf(newTokens)),
        ...this.#rows.map(({ blocks }) => blocks),
      ),
    };
    if (fits(prompts, this.#promptRoom) && fits(own, this.#ownRoom)) return;
    // It uses the tensors that are freed here.
    this.#forgetStep();
    // Where some join others, more will: they find places to spare.
    const spare = there.length > 0 ? JOINING : 1;
    this.#promptRoom = { ...prompts, count: Math.ceil(spare * prompts.count) };
    this.#ownRoom = { ...own, count: Math.ceil(spare * own.count) };
    const places = this.#rows.map(({ place }) => place);
    for (let layer = 0; layer < this.decoder.config.layers; layer++) {
      this.#prompts[layer] = this.#moved(this.#prompts[layer], there, this.#promptRoom);
      this.#own[layer] = this.#moved(this.#own[layer], places, this.#ownRoom);
    }
    for (const [place, row] of this.#rows.entries())
      Object.assign(row, { place, prompt: there.indexOf(row.prompt) });
  }

  /** Places for a layer, the first of which hold what is in the given places of `old`; that is freed. */
  #moved(old: Stored | undefined, places: readonly number[], { count, blocks }: Room): Stored {
    const { config, dtype, device } = this.decoder;
    const width = blocksOf(config.headDim) * BLOCK;
    // A scope, so that nothing stays when memory runs out half-way.
    const stored = tidy(() => {
      const made = {
        keys: zeros([count, config.kvHeads, blocks, width, BLOCK], { dtype, device }),
        values: zeros([count, config.kvHeads, blocks * BLOCK, width], { dtype, device }),
      };
      if (old && places.length > 0) {
        const index = tensor(places, undefined, { dtype: 'int64', device });
        const copy = (from: Tensor, to: Tensor) => {
          const tokens = Math.min(from.size(2), to.size(2));
          const moving = from.narrow(2, 0, tokens).indexSelect(0, index);
          to.narrow(0, 0, places.length).narrow(2, 0, tokens).copy_(moving);
        };
        copy(old.keys, made.keys);
        copy(old.values, made.values);
      }
      return { keys: keep(made.keys), values: keep(made.values) };
    });
    if (old) disposeStored(old);
    return stored;
  }
}

function disposeStored({ keys, values }: Stored): void {
  keys.dispose();
  values.dispose();
}

const fits = (needed: Room, room: Room) => needed.count <= room.count && needed.blocks <= room.blocks;

/** The first places that no row has, as many as are asked for. */
function freePlaces(rows: readonly Row[], placeOf: (row: Row) => number, count: number): number[] {
  const taken = new Set(rows.map(placeOf));
  const free: number[] = [];
  for (let place = 0; free.length < count; place++) if (!taken.has(place)) free.push(place);
  return free;
}

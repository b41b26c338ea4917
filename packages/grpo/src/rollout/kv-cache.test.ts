import { cat, memory, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { uniform } from '../maths/random.js';
import {
  type Attend,
  type Decoder,
  type DecoderConfig,
  type DecodingDecoder,
  equalLayers,
  type PackedTokens,
} from '../models/index.js';
import type { DecodingCache } from './decoding-cache.js';
import { FusedCache } from './fused-cache.js';
import { KvCache } from './kv-cache.js';
import { range } from './rollout.test.helper.js';

const [HEADS, KV_HEADS, WIDTH] = [4, 2, 3];
const plain = {
  layers: 2,
  heads: HEADS,
  kvHeads: KV_HEADS,
  headDim: WIDTH,
  normEps: 1,
  ...equalLayers({ layers: 2, headDim: WIDTH }),
} as DecoderConfig;

type Kind = 'q' | 'k' | 'v';

/** A sequence that is decoded: its prompt, whose tokens it shares, and its own tokens. */
interface Sequence {
  prompt: number;
  id: number;
  length: number;
}

/** The vector that stands for a token: `heads × WIDTH` numbers, a function of where it stands. */
function vector(
  kind: Kind,
  layer: number,
  sequence: Sequence,
  position: number,
  promptLength: number,
): number[] {
  const heads = kind === 'q' ? HEADS : KV_HEADS;
  const owner = position < promptLength ? sequence.prompt : 100 + sequence.id;
  return range(heads * WIDTH).map((i) => 4 * uniform('qkv'.indexOf(kind), layer, owner, position, i) - 2);
}

/** Attention of a sequence's last query to what it sees of it, in plain numbers. */
function attention(config: DecoderConfig, layer: number, sequence: Sequence, promptLength: number): number[] {
  const { attentionScale: scale, attentionSoftcap: cap } = config;
  const { window = Number.POSITIVE_INFINITY } = config.attention[layer]!;
  const q = vector('q', layer, sequence, sequence.length, promptLength);
  return range(HEADS).flatMap((head) => {
    const kvHead = Math.floor(head / (HEADS / KV_HEADS));
    const own = (kind: Kind, at: number) =>
      vector(kind, layer, sequence, at, promptLength).slice(kvHead * WIDTH, (kvHead + 1) * WIDTH);
    const weights = range(sequence.length + 1).map((at) => {
      if (sequence.length - at >= window) return 0;
      const score = scale * own('k', at).reduce((sum, k, i) => sum + k * q[head * WIDTH + i]!, 0);
      return Math.exp(cap ? cap * Math.tanh(score / cap) : score);
    });
    const total = weights.reduce((a, b) => a + b);
    return range(WIDTH).map((i) => weights.reduce((sum, w, at) => sum + (w / total) * own('v', at)[i]!, 0));
  });
}

const on = { dtype: 'float32', device: 'cpu' } as const;
const makers: Record<string, (config: DecoderConfig) => DecodingCache> = {
  KvCache: (config) => new KvCache(config, on),
  FusedCache: (config) => new FusedCache({ config, ...on } as Decoder),
};
const configs: Record<string, DecoderConfig> = {
  'a plain decoder': plain,
  'windows, one of them too long to matter': { ...plain, attention: [{ window: 6 }, { window: 1000 }] },
  'a window of one, and soft caps at another scale': {
    ...plain,
    attention: [{ window: 1 }, {}],
    attentionScale: 0.9,
    attentionSoftcap: 1.5,
  },
};

/**
 * A decoder for which a token's id is its row in `qkv`, queries, keys and values; its hidden states are what they see,
 * `[N, layers × heads × WIDTH]`.
 */
function decoderOf(qkv: (layer: number) => [Tensor, Tensor, Tensor]): DecodingDecoder {
  const seen = ({ ids_N }: PackedTokens, attend: Attend) => {
    const layers = range(plain.layers).map((layer) => {
      const [q, k, v] = qkv(layer).map((x) => x.indexSelect(0, ids_N)) as [Tensor, Tensor, Tensor];
      return attend(layer, q, k, v).reshape([-1, HEADS * WIDTH]);
    });
    return cat(layers, 1);
  };
  const turning = { rotation: undefined, queryNorm: null, keyNorm: null };
  return {
    hidden: seen,
    decode: (tokens: PackedTokens, attend: Parameters<DecodingDecoder['decode']>[1]) =>
      seen(tokens, (layer, ...parts) => {
        const [q, k, v] = parts.map((x) => x.flatten(1)) as [Tensor, Tensor, Tensor];
        return attend(layer, [q, k, v], turning);
      }),
  } as unknown as DecodingDecoder;
}

/** Those whose rows join before each step: at first, and later. */
type Arrivals = Record<number, readonly [length: number, count: number][]>;

const allArrivals: readonly [string, Arrivals][] = [
  [
    'equal prompts and groups',
    {
      0: [
        [4, 3],
        [4, 3],
      ],
    },
  ],
  [
    'prompts of unequal length',
    {
      0: [
        [2, 2],
        [35, 2],
        [16, 2],
      ],
    },
  ],
  [
    'groups of unequal size',
    {
      0: [
        [3, 1],
        [3, 4],
        [6, 2],
        [2, 3],
      ],
    },
  ],
  [
    'a row a prompt',
    {
      0: [
        [1, 1],
        [2, 1],
        [3, 1],
        [6, 1],
      ],
    },
  ],
  [
    'rows that join later',
    {
      0: [[3, 2]],
      1: [[5, 1]],
      4: [
        [2, 1],
        [40, 3],
      ],
      9: [[1, 1]],
      15: [
        [17, 2],
        [3, 5],
      ],
    },
  ],
  ['a row at a time', Object.fromEntries(range(20).map((step) => [step, [[1 + ((5 * step) % 19), 1]]]))],
  ['prompts that join when all have left', { 0: [[3, 1]], 30: [[7, 2]], 60: [[40, 1]] }],
];

const cases = Object.keys(makers).flatMap((cache) =>
  Object.keys(configs).flatMap((of) =>
    allArrivals
      .filter(([what]) => of === 'a plain decoder' || what === 'rows that join later')
      .map(([what, arrivals]) => ({ cache, of, what, arrivals })),
  ),
);

describe('a cache of keys and values', () => {
  it.each(cases)(
    '$cache of $of lets each row see its own sequence as rows leave: $what',
    ({ cache: name, of, arrivals }) => {
      const config = configs[of]!;
      const before = memory().tensors;
      const cache = makers[name]!(config);
      const lengths: number[] = [];
      const rows: (Sequence & { until: number })[] = [];
      let ids = 0;
      const rowsOf = (
        kind: Kind,
        layer: number,
        sequences: readonly Sequence[],
        at: (s: Sequence) => number,
      ) =>
        tensor(
          sequences.flatMap((s) => vector(kind, layer, s, at(s), lengths[s.prompt]!)),
          [sequences.length, kind === 'q' ? HEADS : KV_HEADS, WIDTH],
        );
      const join = (arriving: Arrivals[number], step: number) => {
        const newTokens = 20 + step;
        cache.join(arriving.map(([length, count]) => ({ length, count, newTokens })));
        for (const [joined, [length, count]] of arriving.entries()) {
          const prompt = lengths.push(length) - 1;
          for (let i = 0; i < count; i++) rows.push({ prompt, id: ids++, length, until: length + newTokens });
          const places = range(length).map((at) => ({ prompt, id: 0, length: at }));
          for (const layer of range(config.layers)) {
            const of = (kind: Kind) => rowsOf(kind, layer, places, (s) => s.length);
            cache.storePrompt(layer, joined, of('k'), of('v'));
          }
        }
      };
      let computed = 0;
      for (let step = 0; step < 100; step++) {
        // As in the sampler, tensors that live on must not belong to the scope of the step.
        noGrad(() =>
          tidy(() => {
            const arriving = arrivals[step];
            if (arriving) join(arriving, step);
            if (rows.length === 0) return;
            const qkv = (layer: number) =>
              (['q', 'k', 'v'] as const).map((kind) => rowsOf(kind, layer, rows, (s) => s.length)) as [
                Tensor,
                Tensor,
                Tensor,
              ];
            const ids_N = tensor(range(rows.length), undefined, { dtype: 'int64' });
            const positions = rows.map(({ length }) => length);
            const tokens = { ids_N, positions_N: tensor(positions, undefined, { dtype: 'int64' }) };
            const seen = cache.hidden(decoderOf(qkv), tokens).toNumbers();
            const expected = rows.flatMap((s) =>
              range(config.layers).flatMap((layer) => attention(config, layer, s, lengths[s.prompt]!)),
            );
            expect(seen.length).toBe(expected.length);
            for (const [i, x] of seen.entries())
              expect(x, `step ${step}, number ${i}`).toBeCloseTo(expected[i]!, 5);
            computed += rows.length;
            for (const sequence of rows) sequence.length++;
            const leaving = range(rows.length)
              .reverse()
              .filter((row) => rows[row]!.length === rows[row]!.until || uniform(step, rows[row]!.id) < 0.1);
            for (const row of leaving) {
              const last = rows.pop()!;
              if (row < rows.length) rows[row] = last;
            }
            cache.drop(leaving);
          }),
        );
      }
      expect([rows.length, memory().tensors]).toEqual([0, before]);
      expect(computed).toBeGreaterThan(2 * ids);
    },
  );
});

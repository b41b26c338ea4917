import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noGrad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { firstDifference } from '../maths/lists.js';
import { uniform } from '../maths/random.js';
import { type LoadedModel, loadModel, packSegments } from '../models/index.js';
import type { ServerFacts } from '../remote/dialect.js';
import { JsonServer } from '../remote/json-server.js';
import { roundingBound } from '../remote/rounding-bound.js';
import { vllm } from '../remote/vllm.js';
import { plainSampling, sample } from '../rollout/index.js';
import { ServeEngine } from '../serve/engine.js';
import { serveHttp } from '../serve/http/serve-http.js';
import { readStepRecord, type StepRecord } from '../trace/index.js';
import { remainsOf, run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

/** Drawn once. */
const SEED = 1001131589;

/** A model folder, and `grpo serve` with it. */
async function served(folder: string, dtype: 'float32' | 'bfloat16' = 'float32') {
  const model = loadModel(folder, { dtype });
  const engine = new ServeEngine(model, { name: 'tiny', memoryBytes: 2 ** 28 });
  const weights = realpathSync(tempFolder());
  const options = {
    name: 'tiny',
    folder,
    weightFolders: [weights],
    log: () => {},
    host: '127.0.0.1',
    port: 0,
  };
  const server = await serveHttp(engine, options);
  onTestFinished(async () => {
    engine[Symbol.dispose]();
    await server.close(1000);
    model.decoder.dispose();
  });
  return { url: server.url, weights, model };
}

/** Rows of metrics without the tensors of the process: those of the server are in it, too. */
const rowsIn = (metrics: string) =>
  metrics
    .trim()
    .split('\n')
    .map((line) => Object.entries(JSON.parse(line) as object).filter(([name]) => !name.startsWith('live_')));

/** A record without what names the servers, and the clock. */
async function withoutServers(output: string, step: number) {
  const path = join(output, 'steps', String(step).padStart(6, '0'));
  const { servers, stages: _, settings: __, declared, completions, ...record } = await recordAt(path);
  const { server, weightVersions, ...own } = completions!;
  const { engine, urls, weightsFolder, timeoutSeconds, ...rollout } = declared!.rollout!;
  return {
    record: { ...record, completions: own, declared: { ...declared, rollout } },
    servers,
    weightVersions,
  };
}

const recordAt = async (path: string): Promise<StepRecord> => await readStepRecord(path);

describe(`a run on grpo serve, seed ${SEED}`, () => {
  it.each([
    ['an adapter', 'vllm', ['lora.rank=2']],
    ['all weights', 'sglang', []],
  ])('leaves the bytes of the run in one process, with %s handed over', async (_, engine, more) => {
    const folder = await tinyModelFolder(SEED % 1000);
    const { url, weights } = await served(folder);
    const settings = [
      `model=${folder}`,
      `seed=${SEED}`,
      'dtype=float32',
      'rollout.invariant=true',
      'rollout.temperature=0.8',
      'optimizer.learningRate=1e-2',
      ...more,
    ];
    const [own, other] = [join(tempFolder(), 'own'), join(tempFolder(), 'served')];
    await run({ output: own, settings });
    const ran = await run({
      output: other,
      settings: [
        ...settings,
        `rollout.engine=${engine}`,
        `rollout.urls=[${url}]`,
        `rollout.weightsFolder=${weights}`,
      ],
    });
    const { files: _files, state: _state, metrics, ...expected } = remainsOf(own);
    const { files: __files, state: __state, metrics: otherMetrics, ...found } = remainsOf(other);
    expect(rowsIn(otherMetrics)).toEqual(rowsIn(metrics));
    expect(found).toEqual(expected);
    for (const step of [1, 2]) {
      const one = await withoutServers(own, step);
      const two = await withoutServers(other, step);
      expect(two.record).toEqual(one.record);
      expect(new Set(two.weightVersions)).toEqual(new Set([`step-${step - 1}`]));
      expect(two.servers).toMatchObject([{ isOwnEngine: true, probe: { expected: `step-${step - 1}` } }]);
    }
    expect(ran.notes.join('\n')).not.toMatch(/FAIL|WARN/);
  });

  it.each([
    ['llama3', 'float32', 'float32'],
    ['qwen3-bf16', 'bfloat16', 'bfloat16'],
    ['qwen3-bf16', 'bfloat16', 'float32'],
  ] as const)(
    'draws the same without invariant, up to tokens whose number lies at a boundary, by %s in %s and %s',
    async (name, dtype, ownDtype) => {
      const folder = fileURLToPath(new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url));
      const { url } = await served(folder, dtype);
      const model = loadModel(folder, { dtype: ownDtype });
      onTestFinished(() => model.decoder.dispose());
      const server = new JsonServer(url, 60);
      const facts: ServerFacts = await vllm.facts(server);
      const prompts = Array.from({ length: 24 }, (_, p) =>
        Array.from({ length: 3 + (p % 9) }, (__, t) => Math.floor(97 * uniform(SEED, p, t))),
      );
      const options = { ...plainSampling, maxNewTokens: 24 };
      const requests = prompts.map((ids, p) => ({ ids, count: 8, keys: [SEED % 100, p] }));
      const own = await sample(model, requests, options, SEED);
      const answers = await Promise.all(
        requests.map(({ ids, count, keys }) => {
          const asked = { prompt: ids, count, keys, limit: 24, options, endIds: model.endIds, seed: SEED };
          return vllm.generate(server, facts, asked);
        }),
      );
      const bound = roundingBound(model.decoder, prompts.at(-1)!, [dtype, ownDtype]);
      let [tokens, differences] = [0, 0];
      for (const [p, { ids: prompt, keys }] of requests.entries()) {
        for (const { index, ids } of answers[p]!) {
          const expected = own[p]![index]!.ids;
          const t = firstDifference(ids, expected);
          tokens += t ?? ids.length;
          if (t === undefined) continue;
          differences++;
          const [a, b] = [ids[t]!, expected[t]!].sort((x, y) => x - y) as [number, number];
          const cumulative = cumulativeAfter(model, [...prompt, ...expected.slice(0, t)]);
          const u = uniform(SEED, ...keys, index, t);
          // All boundaries between the two tokens lie next to the number.
          for (let k = a; k < b; k++) expect(Math.abs(cumulative[k]! - u)).toBeLessThan(bound);
        }
      }
      expect(tokens).toBeGreaterThan(1000);
      // Rounding of number types that differ moves a boundary over a number now and then.
      if (dtype !== ownDtype) expect(differences).toBeGreaterThan(0);
    },
  );
});

/** The cumulative distribution of the token after some ids. */
function cumulativeAfter({ decoder }: LoadedModel, ids: readonly number[]): number[] {
  return noGrad(() =>
    tidy(() => {
      const packed = packSegments([{ ids }], decoder.config, decoder.device);
      const hidden = decoder.hidden(packed, packed.attend);
      const logits = decoder.logits(hidden.narrow(0, ids.length - 1, 1)).to('float64');
      return logits.softmax(-1).cumsum(-1).flatten().toNumbers();
    }),
  );
}

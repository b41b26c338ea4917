import { noGrad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { outcomeOf } from '../doctor/planted.test.helper.js';
import { type Lies, LyingServer } from '../lab/lying-server.js';
import type { Model } from '../models/index.js';
import { fixture } from '../rollout/rollout.test.helper.js';
import { RECORD_VERSION, type ServerRecord } from '../trace/index.js';
import { Inspection, WrongWeightsError } from './inspection.js';
import type { Wanted } from './preflight.js';

const PROMPT = [5, 9, 31, 77, 12, 140, 66, 3];

/** Chosen by nobody: other draws, weights and updates each time. */
const SEED = Math.floor(Math.random() * 2 ** 31);

function inspected(
  name: string,
  lies: Lies = {},
  wanted: Partial<Pick<Wanted, 'temperature' | 'maxNewTokens' | 'truncation' | 'invariant'>> = {},
) {
  const model = fixture(name);
  const server = new LyingServer(model, lies);
  const notes: string[] = [];
  const inspection = new Inspection(
    { model, prompt: PROMPT, temperature: 1, invariant: false, maxNewTokens: 120, seed: SEED, ...wanted },
    (text) => notes.push(text),
  );
  onTestFinished(() => {
    server.dispose();
    model.decoder.dispose();
  });
  /** Hands the weights over, and looks at the server. */
  const handOver = async (version: string) => {
    await inspection.published(version);
    server.take();
    await inspection.look(server.access(version));
    return inspection.records[0]!;
  };
  return { model, server, inspection, notes, handOver };
}

/** Moves every weight by a share of itself, up or down by its place. */
function update({ decoder }: Model, share: number): void {
  noGrad(() =>
    tidy(() => {
      for (const [i, parameter] of [...decoder.parameters.values()].entries())
        parameter.mul_(1 + (i % 2 ? share : -share));
    }),
  );
}

const verdictOf = (code: string, server: ServerRecord) =>
  outcomeOf(code, {
    format: 'grpo-step',
    version: RECORD_VERSION,
    step: 1,
    producer: { name: 'test' },
    servers: [server],
  }).verdict;

describe.each(['gpt2', 'llama3', 'qwen2', 'qwen3'])(`a server of %s, seed ${SEED}`, (name) => {
  it('passes with the weights that it was given', async () => {
    const { model, handOver, server, notes } = inspected(name);
    const first = await handOver('step-0');
    expect(verdictOf('B55.probe', first)).toBe('not applicable');
    for (const step of [1, 2, 3]) {
      update(model, 1e-3);
      const record = await handOver(`step-${step}`);
      expect([verdictOf('B55.probe', record), verdictOf('B65.probe', record)]).toEqual(['pass', 'pass']);
    }
    expect(server.flushes).toBe(4);
    expect(notes).toEqual([]);
  });

  it('is stopped with old weights under the new name, and both versions are named', async () => {
    const { model, server, handOver } = inspected(name);
    await handOver('step-0');
    server.lies = { keepsWeights: true };
    update(model, 1e-3);
    const stale = handOver('step-1');
    await expect(stale).rejects.toThrow(WrongWeightsError);
    await expect(stale).rejects.toThrow(/stale weights: it was given step-1.*scores as step-0 did/);
  });

  it('is stopped with a stale prefix cache alone', async () => {
    const { model, server, handOver } = inspected(name);
    await handOver('step-0');
    server.lies = { keepsCache: true };
    await handOver('step-0');
    update(model, 3e-3);
    await expect(handOver('step-1')).rejects.toThrow(/stale prefix cache: with the weights step-1/);
  });

  it('tells old weights from new ones below the noise of its kernels', async () => {
    // A bound of half precision, which the update does not reach.
    const random = () => 1e-4 * (Math.random() - 0.5);
    const { model, server, handOver } = inspected(name, { noise: random, facts: { dtype: 'bfloat16' } });
    await handOver('step-0');
    update(model, 1e-3);
    const record = await handOver('step-1');
    expect(verdictOf('B55.probe', record)).toBe('pass');
    server.lies = { ...server.lies, keepsWeights: true };
    update(model, 1e-3);
    await expect(handOver('step-2')).rejects.toThrow(/stale weights/);
  });

  it('is neither passed nor stopped where the update is too small to tell', async () => {
    const { model, server, handOver } = inspected(name, { noise: () => 1e-6 * (Math.random() - 0.5) });
    await handOver('step-0');
    server.lies = { ...server.lies, keepsWeights: true };
    update(model, 1e-9);
    const record = await handOver('step-1');
    expect([verdictOf('B55.probe', record), verdictOf('B65.probe', record)]).toEqual([
      'not applicable',
      'not applicable',
    ]);
  });
});

describe('a server before the first step', () => {
  it('is refused with another model', async () => {
    const { model, server, inspection } = inspected('qwen2');
    await inspection.published('step-0');
    update(model, 0.05);
    server.take();
    await expect(inspection.look(server.access('step-0'))).rejects.toThrow(
      /does not have the weights step-0/,
    );
  });

  it('is refused when it answers for another version', async () => {
    const { handOver, server } = inspected('qwen2');
    server.lies = { facts: { weightVersion: 'of-somebody-else' } };
    await expect(handOver('step-0')).rejects.toThrow(/it answers as of-somebody-else/);
  });

  it.each(['llama3', 'qwen3'])(
    'is refused with log-probs from before the temperature, of %s',
    async (name) => {
      const { handOver } = inspected(name, { isRaw: true }, { temperature: 0.6 });
      await expect(handOver('step-0')).rejects.toThrow(/log-probs from before the temperature/);
      const right = inspected(name, {}, { temperature: 0.6 });
      await expect(right.handOver('step-0')).resolves.toBeDefined();
    },
  );

  it('tells the ids that sampling kept, where a run truncates, or is refused with what to start it with', async () => {
    const truncation = { topP: 0.8, topK: 40, minP: 0 };
    const look = (lies: Lies) =>
      inspected('llama3', lies, { temperature: 0.9, truncation }).handOver('step-0');
    await expect(look({})).resolves.toBeDefined();
    await expect(look({ support: 'hidden' })).rejects.toThrow(/does not tell the ids that sampling kept/);
    await expect(look({ support: 'beside' })).rejects.toThrow(
      /log-probs from before the truncation: .* over the whole vocabulary/,
    );
    for (const lies of [{ support: 'hidden' }, { support: 'beside' }] as const)
      await expect(look(lies)).rejects.toMatchObject({
        hint: expect.stringContaining('--return-sampling-mask'),
      });
  });

  it('is refused with another tokenizer', async () => {
    const { handOver, model, server } = inspected('qwen2');
    server.lies = { tokens: (text) => model.tokenizer.encode(text.replaceAll('  ', ' ')) };
    await expect(handOver('step-0')).rejects.toThrow(/another tokenizer: token \d+ of " leading/);
  });

  it('is refused where log-probs are to be invariant, unless it is grpo serve', async () => {
    const look = (isGrpo: boolean) =>
      inspected('qwen2', { facts: { isGrpo } }, { invariant: true }).handOver('step-0');
    await expect(look(false)).rejects.toThrow(
      /fake 1: the log-probs of a completion may depend on those beside it/,
    );
    await expect(look(true)).resolves.toBeDefined();
  });

  it('is refused with another vocabulary, and where prompt and completion do not fit', async () => {
    const { handOver, server } = inspected('qwen2');
    server.lies = { facts: { vocabSize: 7 } };
    await expect(handOver('step-0')).rejects.toThrow(/a vocabulary of 7 tokens/);
    server.lies = { facts: { maxModelLen: 20 } };
    await expect(handOver('step-0')).rejects.toThrow(/a prompt of 8 with rollout.maxNewTokens=120 has 128/);
  });

  it('is warned of with another number type, once', async () => {
    const { handOver, notes } = inspected('qwen2', { facts: { dtype: 'bfloat16' } });
    await handOver('step-0');
    await handOver('step-0');
    expect(notes).toEqual([expect.stringMatching(/computes in bfloat16, the trainer in float32/)]);
  });

  it('is held to the coarsest bound where its number type is not known', async () => {
    const { handOver } = inspected('qwen2', { facts: { dtype: 'float8_e4m3fn' } });
    const unknown = (await handOver('step-0')).probe!.bound;
    const coarse = inspected('qwen2', { facts: { dtype: 'bfloat16' } });
    expect(unknown).toBe((await coarse.handOver('step-0')).probe!.bound);
  });

  it('is probed by the completions whose log-probs it knows', async () => {
    const { handOver } = inspected('qwen2', { unknownEvery: 2 });
    expect((await handOver('step-0')).probe!.sampledLengths).toHaveLength(2);
  });
});

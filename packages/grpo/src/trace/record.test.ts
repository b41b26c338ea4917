import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diffusionRecord } from '../doctor/diffusion-record.test.helper.js';
import { cleanRecord } from '../doctor/record.test.helper.js';
import { FileError } from '../errors/file-error.js';
import { FormatError } from '../errors/format-error.js';
import { fuzz, mutateBytes, mutateJson, replaceFile } from '../formats/mutate.test.helper.js';
import { type SafetensorsDtype, SafetensorsFile, writeSafetensors } from '../formats/safetensors.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { readStepRecord } from './read.js';
import type { StepRecord } from './record.js';
import { RECORD_VERSION } from './record.js';
import { writeStepRecord } from './write.js';

const HEAD = { format: 'grpo-step', version: RECORD_VERSION, step: 1, producer: { name: 'test' } } as const;

interface Tensor {
  dtype: SafetensorsDtype;
  values: ArrayBufferView<ArrayBuffer> & { length: number };
}

/** A record's folder out of JSON and tensors, as another writer may make it. */
function folderOf(json: unknown, tensors: Record<string, Tensor> = {}): string {
  const folder = tempFolder();
  writeFileSync(join(folder, 'step.json'), JSON.stringify(json));
  const entries = Object.entries(tensors).map(([name, { dtype, values }]) => ({
    name,
    dtype,
    shape: [values.length],
    data: () => new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  }));
  if (entries.length > 0) writeSafetensors(join(folder, 'step.safetensors'), entries);
  return folder;
}

const i32 = (...values: number[]): Tensor => ({ dtype: 'I32', values: Int32Array.from(values) });
const u8 = (text: string): Tensor => ({ dtype: 'U8', values: Buffer.from(text) as Uint8Array<ArrayBuffer> });
const bits = (...values: number[]): Tensor => ({ dtype: 'U8', values: Uint8Array.from(values) });
const f64 = (...values: number[]): Tensor => ({ dtype: 'F64', values: Float64Array.from(values) });
const f32 = (...values: number[]): Tensor => ({ dtype: 'F32', values: Float32Array.from(values) });

describe('a step record', () => {
  it('is read as it was written: every field, NaN and infinities', () => {
    const record: StepRecord = {
      ...cleanRecord(),
      seed: 7,
      versions: { node: '20' },
      settings: { deep: { list: [1, null, 'x'] } },
    };
    record.rewards!.totals![1] = Number.NaN;
    const B = record.completions!.lengths!.length;
    const reward = record.rewards!.names![0]!;
    record.rewards!.parts = [{ reward, part: 'format', values: new Float64Array(B).fill(Number.NaN) }];
    record.rewards!.rules = record.rewards!.names!.map(() => new Array<string | null>(B).fill(null));
    record.rewards!.rules[0]![1] = 'numbers equal';
    record.rewards!.fallbacks = [Number.NaN, Number.NEGATIVE_INFINITY];
    record.updates![0]!.loss = Number.POSITIVE_INFINITY;
    const folder = tempFolder();
    writeStepRecord(folder, record);
    expect(readStepRecord(folder)).toEqual(record);
  });

  it('of a masked-diffusion model is read as it was written', () => {
    const record = diffusionRecord('coupled');
    const folder = tempFolder();
    writeStepRecord(folder, record);
    expect(readStepRecord(folder)).toEqual(record);
  });

  it('keeps typed arrays as tensors of their path', () => {
    const folder = tempFolder();
    writeStepRecord(folder, cleanRecord());
    using file = SafetensorsFile.open(join(folder, 'step.safetensors'));
    expect(file.info('updates.0.policyLogprobs').dtype).toBe('F32');
    expect(file.info('rewards.totals').dtype).toBe('F64');
    expect(readFileSync(join(folder, 'step.json'), 'utf8')).not.toContain('policyLogprobs');
  });

  it('keeps texts as tensors: their bytes, and the lengths', () => {
    const record = cleanRecord();
    record.prompts!.answers = ['4', null, ''];
    record.completions!.texts![0] = 'é ≠ 👍\u0000\uFEFF';
    record.completions!.sampledTexts = [...record.completions!.texts!];
    const folder = tempFolder();
    writeStepRecord(folder, record);
    expect(readFileSync(join(folder, 'step.json'), 'utf8')).not.toMatch(/answer 3|texts|answers/i);
    using file = SafetensorsFile.open(join(folder, 'step.safetensors'));
    const lengths = file.read('prompts.answers.lengths');
    expect([...new Int32Array(lengths.buffer, lengths.byteOffset, 3)]).toEqual([1, -1, 0]);
    expect(readStepRecord(folder)).toEqual(record);
  });

  it('of version 2 has its texts in the JSON', () => {
    const texts = ['a', 'b'];
    const folder = folderOf({ ...HEAD, version: 2, completions: { texts } });
    expect(readStepRecord(folder)).toEqual({ ...HEAD, completions: { texts } });
  });

  it('needs nothing but its head', () => {
    expect(readStepRecord(folderOf(HEAD))).toEqual(HEAD);
  });

  it('takes tensors for short lists of numbers', () => {
    const { rewards, tokenizer } = readStepRecord(
      folderOf(
        { ...HEAD, rewards: { names: ['x', 'y'] } },
        {
          'rewards.weights': f32(1, 0.5),
          'tokenizer.endIds': { dtype: 'I64', values: BigInt64Array.of(7n) },
        },
      ),
    );
    expect(rewards).toEqual({ names: ['x', 'y'], weights: [1, 0.5] });
    expect(tokenizer).toEqual({ endIds: [7] });
  });

  it('takes numbers of other types', () => {
    const halves = Uint16Array.of(0x3f80, 0xc000, 0x7fc0);
    const folder = folderOf(
      { ...HEAD },
      {
        'completions.ids': { dtype: 'I64', values: BigInt64Array.of(5n, 2147483647n, 7n) },
        'completions.lengths': { dtype: 'I16', values: Int16Array.of(2, 1) },
        'completions.source': { dtype: 'BOOL', values: Uint8Array.of(0, 1, 0) },
        'completions.samplerLogprobs': { dtype: 'BF16', values: halves },
        'completions.sampledLogprobs': { dtype: 'F16', values: Uint16Array.of(0x3c00, 0xc400, 0x0001) },
        advantages: f32(0.5, -0.5),
        'rewards.totals': { dtype: 'I8', values: Int8Array.of(1, -1) },
      },
    );
    const { completions, advantages, rewards } = readStepRecord(folder);
    expect(completions).toEqual({
      ids: Int32Array.of(5, 2147483647, 7),
      lengths: Int32Array.of(2, 1),
      source: Uint8Array.of(0, 1, 0),
      samplerLogprobs: Float32Array.of(1, -2, Number.NaN),
      sampledLogprobs: Float32Array.of(1, -4, 2 ** -24),
    });
    expect(advantages).toEqual(Float64Array.of(0.5, -0.5));
    expect(rewards?.totals).toEqual(Float64Array.of(1, -1));
  });
});

describe('what does not fit is refused, and named', () => {
  const completions = { texts: ['a', 'b'], finish: ['stop', 'stop'] };
  const diffusion = { maskId: 9, plans: [{}] };
  /** One pass over each of two completions with regions of 1 and 2 places. */
  const MASKED = {
    'diffusion.plans.0.views': i32(1, 1),
    'diffusion.plans.0.weights': f64(1, 1),
    'diffusion.plans.0.prompt': bits(),
    'diffusion.plans.0.region': bits(1, 1, 1),
  };
  it.each<[name: string, json: object, tensors: Record<string, Tensor>, message: string]>([
    [
      'lists of prompts',
      { prompts: { texts: ['a'], answers: ['1', '2'] } },
      {},
      'prompts.answers has 2 values, prompts.texts has 1',
    ],
    [
      'lists of completions',
      { completions: { ...completions, finish: ['stop'] } },
      {},
      'completions.finish has 1 values, completions.texts has 2',
    ],
    [
      'prompt ids',
      {},
      { 'prompts.lengths': i32(2, 1), 'prompts.ids': i32(1, 2) },
      'prompts.ids has 2 values, the sum of prompts.lengths has 3',
    ],
    [
      'scored prompts',
      {},
      { 'prompts.scoredLengths': i32(1), 'prompts.scoredIds': i32(1, 2) },
      'prompts.scoredIds has 2 values',
    ],
    [
      'tokens',
      {},
      { 'completions.lengths': i32(2), 'completions.samplerLogprobs': f32(1) },
      'completions.samplerLogprobs has 1 values, the sum of completions.lengths has 2',
    ],
    [
      'scored completions',
      { completions },
      { 'scored.lengths': i32(1) },
      'scored.lengths has 1 values, completions.texts has 2',
    ],
    [
      'regions',
      { completions, diffusion },
      { 'diffusion.widths': i32(2, 1), 'diffusion.order': i32(0, 0), ...MASKED },
      'diffusion.order has 2 values, the sum of diffusion.widths has 3',
    ],
    [
      'passes without weights',
      { completions, diffusion },
      { ...MASKED, 'diffusion.plans.0.weights': f64(1) },
      'diffusion.plans.0.weights has 1 values, the passes of diffusion.plans.0.views has 2',
    ],
    [
      'hidden places of the region',
      { completions, diffusion },
      { ...MASKED, 'diffusion.widths': i32(2, 2) },
      'diffusion.plans.0.region has 3 values, the passes of diffusion.plans.0.views has 4',
    ],
    [
      'hidden places of the prompt',
      { completions, diffusion },
      { ...MASKED, 'completions.prompt': i32(0, 0), 'prompts.lengths': i32(3) },
      'diffusion.plans.0.prompt has 0 values, the passes of diffusion.plans.0.views has 6',
    ],
    [
      'plans of other completions',
      { completions, diffusion },
      { ...MASKED, 'diffusion.plans.0.views': i32(2), 'diffusion.widths': i32(1, 2) },
      'diffusion.plans.0.views has 1 values, completions.texts has 2',
    ],
    [
      'scored tokens',
      {},
      { 'scored.lengths': i32(2), 'scored.mask': i32(1) },
      'scored.mask has 1 values, the sum of scored.lengths has 2',
    ],
    ['advantages', { completions }, { advantages: f32(1) }, 'advantages has 1 values'],
    [
      'advantages and totals alone',
      {},
      { advantages: f32(1), 'rewards.totals': f32(1, 2) },
      'rewards.totals has 2 values, advantages has 1',
    ],
    [
      'reward values',
      { completions, rewards: { names: ['x', 'y'] } },
      { 'rewards.values': f32(1, 2, 3) },
      'rewards.values has 3 values, rewards.names × completions has 4',
    ],
    [
      'reward weights',
      { rewards: { names: ['x', 'y'], weights: [1] } },
      {},
      'rewards.weights has 1 values, rewards.names has 2',
    ],
    [
      'parts',
      { completions, rewards: { names: ['x'], parts: [{ reward: 'x', part: 'y' }] } },
      { 'rewards.parts.0.values': f32(1) },
      'rewards.parts.0.values has 1 values',
    ],
    [
      'parts of another reward',
      { completions, rewards: { names: ['x'], parts: [{ reward: 'z', part: 'y' }] } },
      { 'rewards.parts.0.values': f32(1, 2) },
      'rewards.parts names the reward z',
    ],
    [
      'rules',
      { completions, rewards: { names: ['x', 'y'], rules: [['a', null]] } },
      {},
      'rewards.rules has 1 values, rewards.names has 2',
    ],
    [
      'rules of a reward',
      { completions, rewards: { names: ['x'], rules: [['a']] } },
      {},
      'rewards.rules.0 has 1 values',
    ],
    ['providers', { completions, rewards: { providers: ['x'] } }, {}, 'rewards.providers has 1 values'],
    [
      'update tokens',
      { updates: [{}] },
      { 'scored.lengths': i32(2, 3), 'updates.0.weights': f32(1) },
      'updates.0.weights has 1 values, the scored tokens of its completions has 5',
    ],
    [
      'update tokens of some',
      { updates: [{}] },
      { 'scored.lengths': i32(2, 3), 'updates.0.completions': i32(1), 'updates.0.klTerms': f32(1) },
      'has 3',
    ],
    [
      'update tokens, nothing scored',
      { updates: [{}] },
      { 'completions.lengths': i32(2), 'updates.0.ratios': f32(1) },
      'updates.0.ratios has 1 values',
    ],
    [
      'sizes of micro-batches',
      { updates: [{ microBatches: { executed: 1, configured: 1, sizes: [2] } }] },
      { 'scored.lengths': i32(2), 'updates.0.completions': i32(0) },
      'the sum of updates.0.microBatches.sizes has 2 values',
    ],
    [
      'a completion that is not there',
      { updates: [{}] },
      { 'scored.lengths': i32(2), 'updates.0.completions': i32(1) },
      'updates.0.completions names completion 1 of 1',
    ],
    [
      'a prompt that is not there',
      { prompts: { texts: ['a'] } },
      { 'completions.prompt': i32(0, 1) },
      'completions.prompt names prompt 1 of 1',
    ],
    [
      'a failure of none',
      { completions, rewards: { failures: [{ reward: 'x', completion: 2, reason: 'y' }] } },
      {},
      'rewards.failures names completion 2 of 2',
    ],
    [
      'supports of fewer bytes',
      {},
      {
        'completions.lengths': i32(2),
        'completions.support.sizes': i32(4),
        'completions.support.lengths': i32(2, 2),
        'completions.support.data': bits(2, 7, 2),
      },
      'completions.support.data has 3 values, the sum of completions.support.sizes has 4',
    ],
    [
      'supports that are no sets',
      {},
      {
        'completions.lengths': i32(2),
        'completions.support.sizes': i32(4),
        'completions.support.lengths': i32(2, 2),
        'completions.support.data': bits(2, 7, 6, 7),
      },
      'completions.support: the recorded sets of tokens are damaged',
    ],
    [
      'a negative length',
      {},
      { 'completions.lengths': i32(3, -1) },
      'completions.lengths has a negative value',
    ],
  ])('%s', (_, json, tensors, message) => {
    const read = () => readStepRecord(folderOf({ ...HEAD, ...json }, tensors));
    expect(read).toThrow(FormatError);
    expect(read).toThrow(message);
  });

  it.each<[name: string, tensor: string, json: object]>([
    ['a name that records do not have', 'completion.ids', {}],
    ['an update that the JSON does not have', 'updates.3.weights', { updates: [{}] }],
    ['one beneath a number', 'step.ids', {}],
    ['one beneath a tensor', 'advantages.0', {}],
    ['the prototype', '__proto__.polluted', {}],
    ['the constructor', 'constructor.prototype.polluted', {}],
    ['an inherited name', 'toString.polluted', {}],
    ['no name', '', {}],
  ])('a tensor without a place: %s', (_, name, json) => {
    const read = () => readStepRecord(folderOf({ ...HEAD, ...json }, { advantages: f32(1), [name]: f32(1) }));
    expect(read).toThrow(/has no place in a step record|not a step record/);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it.each<[name: string, tensors: Record<string, Tensor>]>([
    ['more bytes than texts', { bytes: u8('abcd'), lengths: i32(1, 2) }],
    ['fewer', { bytes: u8('ab'), lengths: i32(1, 2) }],
    ['a length below −1', { bytes: u8('ab'), lengths: i32(2, -2) }],
    ['half a character', { bytes: u8('é'), lengths: i32(1, 1) }],
    ['bytes of another type', { bytes: f32(97), lengths: i32(1) }],
    ['no lengths', { bytes: u8('a') }],
  ])('texts that cannot be cut apart: %s', (_, parts) => {
    const tensors = Object.entries(parts).map(([key, value]) => [`completions.texts.${key}`, value] as const);
    const read = () => readStepRecord(folderOf(HEAD, Object.fromEntries(tensors)));
    expect(read).toThrow(FormatError);
    expect(read).toThrow('completions.texts.lengths');
  });

  it('a key that reaches the prototype does not', () => {
    const json = `{"format":"grpo-step","version":${RECORD_VERSION},"step":1,"producer":{"name":"x"},"__proto__":{"polluted":1},"versions":{"__proto__":"x"}}`;
    const folder = tempFolder();
    writeFileSync(join(folder, 'step.json'), json);
    readStepRecord(folder);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('another version, another format, a folder without a record', () => {
    expect(() => readStepRecord(folderOf({ ...HEAD, version: 1 }))).toThrow(
      'step.json: a step record of version 1, and this grpo reads versions 2 and 3: record the step again, or read it with the grpo of the run that wrote it',
    );
    expect(() => readStepRecord(folderOf({ ...HEAD, format: 'x' }))).toThrow('not a step record');
    expect(() => readStepRecord(folderOf({ ...HEAD, advantages: [1, 2] }))).toThrow('must be a tensor');
    expect(() => readStepRecord(tempFolder())).toThrow(FileError);
  });

  it.each(['step.json', 'step.safetensors'])('a %s that was cut short, anywhere', (name) => {
    const folder = tempFolder();
    writeStepRecord(folder, cleanRecord());
    const whole = readFileSync(join(folder, name));
    for (let n = 0; n < 40; n++) {
      replaceFile(join(folder, name), whole.subarray(0, Math.floor((n / 40) * (whole.length - 2))));
      expect(() => readStepRecord(folder)).toThrow(FormatError);
    }
  });
});

describe('damaged files', () => {
  const whole = () => {
    const folder = tempFolder();
    writeStepRecord(folder, cleanRecord());
    const [json, tensors] = ['step.json', 'step.safetensors'].map((name) => join(folder, name)) as [
      string,
      string,
    ];
    return { folder, json, tensors, bytes: [readFileSync(json), readFileSync(tensors)] as const };
  };

  it('are read, or refused in words: bytes', () => {
    const { folder, json, tensors, bytes } = whole();
    const outcomes = fuzz(
      1000,
      (dice, seed) => {
        replaceFile(json, seed % 2 ? mutateBytes(dice, bytes[0]) : bytes[0]);
        replaceFile(tensors, seed % 2 ? bytes[1] : mutateBytes(dice, bytes[1]));
        return readStepRecord(folder);
      },
      ({ format }) => expect(format).toBe('grpo-step'),
    );
    expect(outcomes.loaded).toBeGreaterThan(50);
    expect(outcomes.refused).toBeGreaterThan(500);
  });

  it('are read, or refused in words: values', () => {
    const { folder, json, bytes } = whole();
    const value: unknown = JSON.parse(bytes[0].toString('utf8'));
    const outcomes = fuzz(
      1000,
      (dice) => {
        replaceFile(json, JSON.stringify(mutateJson(dice, value)));
        return readStepRecord(folder);
      },
      ({ format }) => expect(format).toBe('grpo-step'),
    );
    expect(outcomes.loaded).toBeGreaterThan(100);
    expect(outcomes.refused).toBeGreaterThan(300);
  });
});

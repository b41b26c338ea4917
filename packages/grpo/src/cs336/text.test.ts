import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { loadModel } from '../models/index.js';
import { fixture, modelFixture, numbersOf } from './fixture.test.helper.js';
import {
  getPackedSftDataset,
  iterateBatches,
  type PackedSftDatasetOptions,
  parseGsm8kResponse,
  parseMmluResponse,
  tokenizePromptAndOutput,
} from './index.js';

const { text } = fixture;
const { tokenizer } = loadModel(modelFixture(text.model));

describe('tokenizePromptAndOutput', () => {
  it('gives the ids of the Rust library, the labels one further, and the mask of the outputs', () => {
    const made = tokenizePromptAndOutput({ promptStrs: text.prompts, outputStrs: text.outputs, tokenizer });
    for (const [ours, theirs] of [
      [made.inputIds, text.inputIds],
      [made.labels, text.labels],
    ] as const) {
      expect(ours.shape).toEqual(theirs.shape);
      expect(ours.dtype).toBe('int64');
      expect(ours.toNumbers()).toEqual(theirs.values);
    }
    expect(made.responseMask.dtype).toBe('bool');
    expect(made.responseMask.toNumbers()).toEqual(numbersOf(text.responseMask));
    const lengths = made.responseMask.sumDim([1]).toNumbers();
    expect(lengths).toEqual(text.outputs.map((output) => tokenizer.encode(output).length));
  });

  it("has the shape of the assignment's snapshot: only the longest row loses its last id", () => {
    const vocabulary: Record<string, number[]> = {
      'Hello, world!': [9707, 11, 1879, 0],
      'Four more ids': [20, 21, 22, 23],
      'Five ids, the most': [30, 31, 32, 33, 34],
    };
    const texts = Object.keys(vocabulary);
    const { inputIds, labels, responseMask } = tokenizePromptAndOutput({
      promptStrs: texts,
      outputStrs: texts,
      tokenizer: { encode: (part) => vocabulary[part]!, padId: 151643, eosId: undefined },
    });
    const rows = (values: number[]) => [0, 1, 2].map((b) => values.slice(9 * b, 9 * b + 9));
    expect(inputIds.shape).toEqual([3, 9]);
    expect(rows(inputIds.toNumbers())[0]).toEqual([9707, 11, 1879, 0, 9707, 11, 1879, 0, 151643]);
    expect(rows(labels.toNumbers())[0]).toEqual([11, 1879, 0, 9707, 11, 1879, 0, 151643, 151643]);
    expect(rows(inputIds.toNumbers())[2]).toEqual([30, 31, 32, 33, 34, 30, 31, 32, 33]);
    expect(rows(labels.toNumbers())[2]!.at(-1)).toBe(34);
    expect(rows(responseMask.toNumbers())).toEqual([
      [0, 0, 0, 1, 1, 1, 1, 0, 0],
      [0, 0, 0, 1, 1, 1, 1, 0, 0],
      [0, 0, 0, 0, 1, 1, 1, 1, 1],
    ]);
  });

  it('pads with the end token where there is no other, and says where there is none', () => {
    const encode = (part: string) => Array.from(part, (char) => char.charCodeAt(0));
    const given = (ids: { padId: number | undefined; eosId: number | undefined }, outputStrs = ['b', 'cd']) =>
      tokenizePromptAndOutput({ promptStrs: ['', ''], outputStrs, tokenizer: { encode, ...ids } });
    expect(given({ padId: undefined, eosId: 7 }).labels.toNumbers()).toEqual([7, 100]);
    expect(() => given({ padId: undefined, eosId: undefined })).toThrow(
      'neither a pad_token nor an eos_token',
    );
    expect(() => given({ padId: 1, eosId: 2 }, ['b'])).toThrow('2 prompts, but 1 outputs');
    expect(() => given({ padId: 1, eosId: 2 }, ['', ''])).toThrow('there is no text');
  });
});

describe('getPackedSftDataset', () => {
  const { template, rows, seqLength } = text.sft;
  const write = (lines: object[]) => {
    const path = join(tempFolder(), 'sft.jsonl');
    writeFileSync(path, lines.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return path;
  };
  const open = (changes: Partial<PackedSftDatasetOptions> = {}) =>
    getPackedSftDataset({
      tokenizer,
      datasetPath: write(rows),
      seqLength,
      shuffle: false,
      template,
      ...changes,
    });
  const all = <Part extends 'inputIds' | 'labels'>(
    batches: Iterable<Record<Part, { toNumbers(): number[] }>>,
    part: Part,
  ) => [...batches].flatMap((batch) => batch[part].toNumbers());

  it('packs the ids of the Rust library, each label the id that follows', async () => {
    const dataset = await open();
    expect(dataset.length).toBe(text.sft.inputIds.shape[0]);
    const batches = [...iterateBatches({ dataset, batchSize: 4, shuffle: false })];
    expect(batches.map(({ labels }) => labels.shape)).toEqual([
      [4, seqLength],
      [dataset.length - 4, seqLength],
    ]);
    expect(
      batches.every(({ inputIds, labels }) => inputIds.dtype === 'int64' && labels.dtype === 'int64'),
    ).toBe(true);
    expect(all(batches, 'inputIds')).toEqual(text.sft.inputIds.values);
    expect(all(batches, 'labels')).toEqual(text.sft.labels.values);
    expect(dataset.get(1).labels.toNumbers()[seqLength - 1]).toBe(dataset.get(2).inputIds.toNumbers()[0]);
    expect(() => dataset.get(dataset.length)).toThrow(RangeError);
  });

  it('puts a BOS where the tokenizer adds one', async () => {
    const encode: typeof tokenizer.encode = (part, options) => [
      ...(options?.specialTokens ? [900] : []),
      ...tokenizer.encode(part),
    ];
    const plain = await open();
    const begun = await open({ tokenizer: { encode, eosId: 901 } });
    expect(begun.get(0).inputIds.toNumbers().slice(0, 5)).toEqual([
      900,
      ...plain.get(0).inputIds.toNumbers().slice(0, 4),
    ]);
    const starts = all(iterateBatches({ dataset: begun, batchSize: 9, shuffle: false }), 'inputIds');
    expect(starts.flatMap((id, i) => (id === 901 ? [starts[i + 1]] : []))).toEqual([900, 900, 900]);
  });

  it('shuffles rows, and examples, in an order that follows from the seed', async () => {
    const first = async (changes: Partial<PackedSftDatasetOptions>) =>
      (await open({ shuffle: true, ...changes })).get(0).inputIds.toNumbers();
    const seeds = Array.from({ length: 8 }, (_, seed) => seed);
    const firsts = await Promise.all(seeds.map((seed) => first({ seed })));
    expect(new Set(firsts.map(String)).size).toBe(rows.length);
    expect(await first({ seed: 3 })).toEqual(firsts[3]);

    const dataset = await open();
    const order = (seed: number) =>
      [...iterateBatches({ dataset, batchSize: 1, shuffle: true, seed })].map(
        ({ inputIds }) => `${inputIds.toNumbers()}`,
      );
    expect(order(0)).not.toEqual(order(1));
    expect([...order(0)].sort()).toEqual([...order(1)].sort());
  });

  it('refuses what it cannot pack', async () => {
    await expect(open({ datasetPath: write([{ prompt: 'a' }]) })).rejects.toThrow(
      'the row needs the texts "prompt" and "response"',
    );
    await expect(open({ template: 'Q: {instruction}' })).rejects.toThrow('the template has no {response}');
    await expect(open({ tokenizer: { encode: () => [1], eosId: undefined } })).rejects.toThrow(
      'no eos_token',
    );
    await expect(open({ seqLength: 4000 })).rejects.toThrow('too few for one example of 4000');
    await expect(open({ seqLength: 0 })).rejects.toThrow('seqLength must be a whole number >= 1, found 0');
  });
});

describe('parseMmluResponse', () => {
  const parse = (modelOutput: string, options = ['w', 'x', 'y', 'z']) =>
    parseMmluResponse({ mmluExample: { options }, modelOutput });

  it.each([
    ['The correct answer is B.', 'B'],
    ['The correct answer is B. Since the answer is A only in 2D.', 'B'],
    ['the answer is: (D)', 'D'],
    ['The answer is **C**', 'C'],
    ['The correct answer is 4.', null],
    ['The correct answer is E.', null],
    ['The correct answer is Berlin.', null],
    ["The answer is A's brother.", null],
    ['B', null],
    ['', null],
  ])('%s → %s', (output, letter) => expect(parse(output)).toBe(letter));

  it('knows as many letters as there are options', () => {
    expect(parse('The answer is E.', ['1', '2', '3', '4', '5'])).toBe('E');
  });
});

describe('parseGsm8kResponse', () => {
  it.each([
    ['Half of 48 is 24, and 48 + 24 = 72 clips.', '72'],
    ['#### 72', '72'],
    ['It costs $1,250.50.', '1250.5'],
    ['She has 1,2,3', '3'],
    ['10-5', '5'],
    ['The change is -5 degrees', '-5'],
    ['It grew by −0.50', '-0.5'],
    ['a share of .25', '0.25'],
    ['12clips', '12'],
    ['Seventy-two.', null],
    ['', null],
  ])('%s → %s', (output, number) => expect(parseGsm8kResponse({ modelOutput: output })).toBe(number));

  it('reads a long output at once', () => {
    expect(parseGsm8kResponse({ modelOutput: '1,'.repeat(100_000) })).toBe('1');
    expect(parseGsm8kResponse({ modelOutput: '1'.repeat(100_000) })).toHaveLength(100_000);
  });
});

import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { grpoStep } from '../step/grpo-step.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from '../step/step.test.helper.js';
import { readStepRecord, rowsOf, writeStepRecord } from '../trace/index.js';
import { stepRecordOf } from './step-record.js';
import { StepRecorder } from './step-recorder.js';

it('a record has the bytes of every token: put together they are the text that was rendered', async () => {
  const model = fixtureModel('llama3');
  const trainer = trainerOf(model, ['rollout.prompts=2'], { score: spreadRewards });
  const recorder = new StepRecorder(trainer);
  const problems = [{ ...PROBLEMS[0]!, prompt: 'naïve 👍🏽 ≠ \u202e\u0000' }, PROBLEMS[1]!];
  await grpoStep({ ...trainer, observers: [recorder] }, problems, 0, 1e-3);
  const folder = tempFolder();
  writeStepRecord(folder, stepRecordOf(trainer, recorder.recorded, 1));
  const { tokenizer, prompts, completions } = readStepRecord(folder);
  const { ids, bytes, lengths } = tokenizer!.pieces!;
  const pieces = new Map(rowsOf(bytes, lengths).map((piece, i) => [ids[i]!, piece]));
  const textOf = (row: Int32Array) =>
    new TextDecoder('utf-8', { ignoreBOM: true }).decode(
      Buffer.concat([...row].map((id) => pieces.get(id)!)),
    );
  expect(rowsOf(prompts!.ids!, prompts!.lengths!).map(textOf)).toEqual(prompts!.texts);
  expect(prompts!.texts![0]).toContain('👍🏽');
  const ends = new Set(tokenizer!.endIds);
  const sampled = rowsOf(completions!.ids!, completions!.lengths!).map((row) =>
    textOf(ends.has(row.at(-1)!) ? row.subarray(0, -1) : row),
  );
  expect(sampled).toEqual(completions!.sampledTexts);
  expect(new Set(ids).size).toBe(ids.length);
});

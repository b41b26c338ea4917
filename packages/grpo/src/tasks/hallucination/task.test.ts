import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { writeRows } from '../fairness/sample.test.helper.js';
import { hallucinationReward } from './reward.js';
import { hallucinationQuestion } from './row.js';
import { haluevalRows, qaRows } from './sample.test.helper.js';
import { haluevalTask } from './task.js';

const file = (rows: readonly object[] = haluevalRows()) =>
  writeRows(join(tempFolder(), 'halueval.json'), rows);

describe('the task halueval', () => {
  it('reads all four layouts, and its demonstrations are right', async () => {
    const task = await haluevalTask({ data: file(), evalSize: 8 });
    const all = [...task.train, ...task.eval];
    expect(all).toHaveLength(40);
    for (const { row, demonstration } of all) {
      const { value } = hallucinationReward(demonstration!, hallucinationQuestion(row));
      const isNo = row.hallucination === 'no';
      expect(value, demonstration).toBeGreaterThanOrEqual(isNo ? 0.8 - 1e-12 : 0.95);
      expect(task.isCorrect!(demonstration!, row)).toBe(true);
    }
  });

  it('an answer that is hallucinated earns less than none that is known, and both less than the right one', async () => {
    const { train, isCorrect } = await haluevalTask({ data: file(), evalSize: 0 });
    for (const { row, demonstration } of train) {
      const question = hallucinationQuestion(row);
      if (question.kind === 'general') continue;
      const wrong = demonstration!.replace(question.right, question.hallucinated);
      const value = (completion: string) => hallucinationReward(completion, question).value;
      expect(value(wrong)).toBeLessThan(value('Answer: I do not know.'));
      expect(value('Answer: I do not know.')).toBeLessThan(value(demonstration!));
      expect(isCorrect!(wrong, row)).toBe(false);
    }
  });

  it('keeps the questions of one text on one side', async () => {
    const { train, eval: held } = await haluevalTask({ data: file(qaRows()), evalSize: 5 });
    const texts = new Set(train.map(({ row }) => row.knowledge));
    expect(held).toHaveLength(6);
    expect(held.filter(({ row }) => texts.has(row.knowledge))).toEqual([]);
  });

  it('shows text and question, with instructions of its kind', async () => {
    const { train } = await haluevalTask({ data: file(), evalSize: 0 });
    const prompts = train.map(({ prompt }) => String(prompt));
    expect(prompts[0]).toMatch(
      /^Text: Alder is a town .*\nQuestion: When was .*\?\n\nAnswer the question by the text alone/,
    );
    expect(
      prompts.filter((text) => /Conversation: \[Human\].*\n\nGive the next turn/.test(text)),
    ).toHaveLength(8);
    expect(prompts.filter((text) => text.includes('\n\nSummarise the text'))).toHaveLength(8);
    expect(prompts.filter((text) => /^Query: .*\nResponse: .*\n\nTell whether/.test(text))).toHaveLength(8);
  });

  it.each([
    [
      { question: 'q', answer: 'a' },
      /halueval\.json:1: the row matches no layout of HaluEval: qa \(knowledge, question, .*; found question, answer/,
    ],
    [{ knowledge: 'k', right_answer: 'a', hallucinated_answer: 'b' }, /no key "question"/],
    [
      { user_query: 'q', chatgpt_response: 'r', hallucination: 'maybe' },
      /hallucination must be "yes" or "no", found "maybe"/,
    ],
    [
      { user_query: 'q', chatgpt_response: 'r', hallucination: 'yes', hallucination_spans: 'x' },
      /hallucination_spans must be a list/,
    ],
  ])('refuses %j', async (row, message) => {
    await expect(haluevalTask({ data: file([row]), evalSize: 0 })).rejects.toThrow(message);
  });
});

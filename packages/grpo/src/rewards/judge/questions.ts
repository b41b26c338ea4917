/** A judge's questions about a group, and the verdicts that follow for its completions. */
import { permutation } from '../../maths/random.js';
import type { Prompt } from '../../text/message.js';
import type { JudgeVerdict } from '../reward.js';
import { type JudgeTemplate, numberTexts, promptText } from './judge-template.js';
import type { Panel } from './panel.js';
import { rankScores, readRanking } from './ranking.js';
import { readScore } from './reply.js';
import { cacheKey } from './verdict-cache.js';

/** The completions of one prompt. */
export interface Group {
  prompt: Prompt;
  row: unknown;
  completions: readonly string[];
}

/** A verdict, or why there is none. */
export type JudgedCompletion = JudgeVerdict & { failure?: string };

/** How to ask. */
export interface AskOptions {
  template: JudgeTemplate;
  task: string;
  seed: number;
  components: Readonly<Record<string, number>> | undefined;
}

/**
 * A score for each completion. Equal completions are asked about once, and get the same.
 * @throws Reason when the row lacks a key that the prompt shows
 */
export async function scoreGroup(
  panel: Panel,
  { prompt, row, completions }: Group,
  { template, task, components }: AskOptions,
): Promise<JudgedCompletion[]> {
  const texts = [...new Set(completions)];
  const questions = texts.map((text) => ({
    message: template({ prompt, row, judged: text }),
    about: [task, promptText(prompt), text],
    read: (reply: string) => readScore(reply, components),
  }));
  const { provider, rule, answers } = await panel.ask(questions, completions.length);
  return completions.map((text) => {
    const answer = answers[texts.indexOf(text)]!;
    if (answer.failure !== undefined) return { value: null, provider, failure: answer.failure };
    return { ...answer.value, rule, provider, reply: answer.reply };
  });
}

/**
 * An order of the whole group. It is shown in an order of its own, since judges prefer what stands first; that follows
 * from the seed and the texts alone. Equal completions are shown once. One completion alone has no reward.
 */
export async function rankGroup(
  panel: Panel,
  { prompt, row, completions }: Group,
  { template, task, seed }: AskOptions,
): Promise<JudgedCompletion[]> {
  if (completions.length < 2)
    return completions.map(() => ({ value: null, rule: 'nothing to compare with' }));
  const distinct = [...new Set(completions)];
  if (distinct.length < 2) return completions.map(() => ({ value: 0.5, rule: 'all completions are equal' }));
  const mark = cacheKey([String(seed), promptText(prompt), ...distinct]).slice(0, 12);
  const shown = permutation(distinct.length, seed, Number.parseInt(mark, 16)).map((i) => distinct[i]!);
  const question = {
    message: template({ prompt, row, judged: numberTexts(shown, mark) }),
    about: [task, promptText(prompt), ...shown],
    read: (reply: string) => readRanking(reply, shown.length),
  };
  const { provider, rule, answers } = await panel.ask([question], completions.length);
  const [answer] = answers;
  if (answer!.failure !== undefined) {
    const { failure } = answer!;
    return completions.map(() => ({ value: null, provider, failure }));
  }
  const { value: places, reply } = answer!;
  const placeOf = new Map(shown.map((text, i) => [text, places[i]!]));
  return rankScores(completions, placeOf).map((value) => ({ value, rule, provider, reply }));
}

import type { Config } from '../config/schema.js';
import type { Problem, Task } from '../tasks/task.js';
import { renderPrompt } from '../text/render.js';
import type { InspectionCheck, Renderer } from './check.js';
import type { NamedPrompt } from './template-rows.js';

/** What an inspection knows of a run. */
export interface InspectedRun {
  task: Pick<Task, 'name' | 'train' | 'eval' | 'stop'>;
  config: Pick<Config, 'rollout' | 'eval' | 'task' | 'diffusion'>;
}

/** Rows of training and held-out rows that are rendered on every path. */
const [TRAINED, HELD] = [6, 2];

/** The first prompts of a run. */
export const promptsOf = ({ train, eval: held }: InspectedRun['task']): NamedPrompt[] => {
  const named = (kind: string, problems: readonly Problem[]) =>
    problems.map((problem, i): NamedPrompt => ({ ...problem, name: `${kind} ${i + 1}` }));
  return [...named('training row', train.slice(0, TRAINED)), ...named('held-out row', held.slice(0, HELD))];
};

/** What holds of a run's rows beside how they are rendered. */
export function runChecks(
  model: Renderer,
  maxPositions: number,
  { task, config }: InspectedRun,
): InspectionCheck[] {
  return [lengthCheck(model, maxPositions, task, config), stopCheck(task)];
}

/** So many prompts with the most characters are measured, and so many with the fewest: tokens mostly follow them. */
const MEASURED = 24;

/** Where some prompts leave less room than others, their completions are cut earlier than the rest. */
function lengthCheck(
  { tokenizer, template }: Renderer,
  maxPositions: number,
  { train, eval: held }: InspectedRun['task'],
  { rollout: { maxNewTokens }, eval: { limit } }: InspectedRun['config'],
): InspectionCheck {
  const name = 'lengths';
  const bySize = [...train, ...held.slice(0, limit)]
    .map(({ prompt }) => ({ prompt, size: JSON.stringify(prompt).length }))
    .sort((a, b) => a.size - b.size);
  const measured = [...bySize.slice(0, MEASURED), ...bySize.slice(MEASURED).slice(-MEASURED)].map(
    ({ prompt }) => renderPrompt(tokenizer, template, prompt).ids.length,
  );
  const log = [
    `shortest and longest prompts, in ids: ${measured.join(' ')}`,
    `rollout.maxNewTokens: ${maxNewTokens}; context: ${maxPositions}`,
  ];
  if (measured.length === 0) return { name, verdict: 'not applicable', says: 'no prompts', log };
  const [longest, shortest] = [Math.max(...measured), Math.min(...measured)];
  const room = maxPositions - longest;
  if (room >= maxNewTokens)
    return {
      name,
      verdict: 'pass',
      says: `The longest prompt, ${longest} ids, and ${maxNewTokens} tokens fit the context of ${maxPositions}.`,
      log,
    };
  return maxPositions - shortest < maxNewTokens
    ? {
        name,
        verdict: 'inform',
        says: `The context of ${maxPositions} ends every completion before rollout.maxNewTokens=${maxNewTokens}.`,
        log,
      }
    : {
        name,
        verdict: 'warn',
        says: `The longest prompt has ${longest} ids of the context's ${maxPositions}: its completions are cut after ${room} tokens, those of the shortest after ${maxNewTokens}.`,
        remedy: `Shorten such rows, or write rollout.maxNewTokens=${Math.max(1, room)}.`,
        log,
      };
}

/** Demonstrations that are looked at. */
const MOST = 200;

/** A demonstration that goes on after a stop string shows an answer that sampling would never finish. */
function stopCheck({ train, stop }: InspectedRun['task']): InspectionCheck {
  const name = 'stop strings';
  const shown: string[] = [];
  for (const { demonstration } of train) {
    if (shown.length === MOST) break;
    if (demonstration !== undefined) shown.push(demonstration);
  }
  const log = [`stop strings: ${stop.map((string) => JSON.stringify(string)).join(' ') || 'none'}`];
  if (stop.length === 0 || shown.length === 0)
    return {
      name,
      verdict: 'not applicable',
      says: 'no stop string, or no demonstration that it could end',
      log,
    };
  const ends = shown.map((text) => {
    const places = stop.flatMap((string) =>
      text.includes(string) ? text.indexOf(string) + string.length : [],
    );
    return { text, end: Math.min(text.length, ...places), isStopped: places.length > 0 };
  });
  const cut = ends.filter(({ text, end }) => text.slice(end).trim() !== '');
  const unended = ends.filter(({ isStopped }) => !isStopped);
  const remedy = 'Choose task.stop so that every right answer ends in it, and none goes on after it.';
  const examples = [...cut, ...unended].slice(0, 5).map(({ text }) => JSON.stringify(text));
  if (cut.length > 0)
    return {
      name,
      verdict: 'warn',
      says: `A stop string would cut ${cut.length} of ${shown.length} demonstrations before their end: right answers cannot be sampled whole.`,
      remedy,
      log: [...log, ...examples],
    };
  return unended.length > 0
    ? {
        name,
        verdict: 'inform',
        says: `${unended.length} of ${shown.length} demonstrations hold no stop string: only the end token ends such an answer.`,
        remedy,
        log: [...log, ...examples],
      }
    : { name, verdict: 'pass', says: `Every demonstration ends in a stop string.`, log };
}

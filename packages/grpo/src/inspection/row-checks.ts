import type { Check } from '../doctor/check.js';
import type { Found, Outcome } from '../doctor/outcome.js';
import { checkOf } from '../doctor/registry.js';
import { printable } from '../errors/printable.js';
import { isSame } from '../maths/lists.js';
import { renderedRecord } from '../observe/rendered-record.js';
import type { Prompt } from '../text/message.js';
import { RECORD_VERSION } from '../trace/index.js';
import type { InspectionCheck, Renderer } from './check.js';
import type { TemplateRow } from './template-rows.js';
import { ownWords, type TemplateShape, withoutSpecialTokens } from './template-shape.js';

/** What holds of every prompt that training renders. */
export function rowChecks(
  model: Renderer,
  rows: readonly TemplateRow[],
  { shape, ownStages }: { shape: TemplateShape | undefined; ownStages: readonly string[] },
): InspectionCheck[] {
  const conversations = rows.filter(({ prompt }) => typeof prompt !== 'string');
  const plain = rows.filter(({ prompt }) => typeof prompt === 'string');
  const ask = (name: string, code: Check['code'], kinds: readonly (readonly TemplateRow[])[]) =>
    doctorCheck(name, code, model, kinds, ownStages);
  return [
    ask('bos', 'B04.bos', [conversations, plain]),
    ask('header', 'B03.header', [conversations]),
    ask('system message', 'B05.system', [conversations]),
    ...(shape ? [systemTurnCheck(model, shape, conversations)] : []),
    dateCheck(model, conversations),
    roundTripCheck(rows),
    samePathsCheck(rows),
  ];
}

/** The doctor's own check, asked of rendered prompts; those of one kind are a record. */
function doctorCheck(
  name: string,
  code: Check['code'],
  model: Renderer,
  kinds: readonly (readonly TemplateRow[])[],
  ownStages: readonly string[] = [],
): InspectionCheck {
  const check = checkOf(code);
  if (check.scope !== 'step') throw new Error(`${code} is not a check of a step`);
  const outcomes = kinds
    .filter((rows) => rows.length > 0)
    .map((rows) => {
      const prompts = rows.map(({ text, ids }) => ({ text, ids: [...ids], spans: [] }));
      const rendered = renderedRecord(model, rows, prompts);
      const record = { format: 'grpo-step', version: RECORD_VERSION, step: 1 } as const;
      return check.test({
        ...record,
        producer: { name: 'grpo' },
        declared: { ownStages: [...ownStages] },
        ...rendered,
      });
    });
  const found = outcomes.find(isFound);
  const outcome = found ?? outcomes.find(({ verdict }) => verdict === 'pass') ?? outcomes[0];
  const log = kinds.flat().map(({ name: row, text }) => `${row}: ${JSON.stringify(text)}`);
  if (!outcome) return { name, verdict: 'not applicable', says: 'no prompt is a conversation', log };
  if (outcome.verdict === 'not applicable')
    return { name, verdict: outcome.verdict, says: `missing: ${outcome.missing.join(', ')}`, log };
  return isFound(outcome)
    ? {
        name,
        verdict: outcome.verdict,
        says: `${check.says(outcome.measured)} (${code})`,
        remedy: check.remedy,
        log,
      }
    : { name, verdict: 'pass', says: `${check.title}.`, log };
}

const isFound = (outcome: Outcome): outcome is Found => 'evidence' in outcome;

/** A system turn that nobody asked for. */
function systemTurnCheck(
  model: Renderer,
  shape: TemplateShape,
  rows: readonly TemplateRow[],
): InspectionCheck {
  const name = 'system turn';
  const log = rows.map((row) => `${row.name}: ${row.system}`);
  const without = (turn: 'EMPTY' | 'OWN') => rows.filter(({ system }) => system === turn);
  const words = (turn: 'EMPTY' | 'OWN') => JSON.stringify(printable(ownWords(model, shape, turn), 120));
  const empty = without('EMPTY').filter(({ prompt }) => !isGivenEmpty(prompt));
  const given = without('EMPTY').filter(({ prompt }) => isGivenEmpty(prompt));
  const own = without('OWN');
  if (rows.length === 0) return { name, verdict: 'not applicable', says: 'no prompt is a conversation', log };
  if (empty.length > 0) {
    const holds = words('EMPTY');
    return {
      name,
      verdict: 'warn',
      says: `Without a system message the template still writes a system turn, and it holds ${holds === '""' ? 'nothing' : `nothing but ${holds}`} (${namesOf(empty)}).`,
      remedy: 'Write a system message in SFT, training and evaluation alike: task.system="…".',
      log,
    };
  }
  if (own.length > 0)
    return {
      name,
      verdict: 'inform',
      says: `Without a system message the template writes its own: ${words('OWN')} (${namesOf(own)}). Code that renders by hand leaves it out.`,
      remedy: 'Write task.system="…", or keep to the template in SFT, training and evaluation.',
      log,
    };
  if (given.length > 0)
    return {
      name,
      verdict: 'inform',
      says: `An empty system message leaves a system turn that holds nothing (${namesOf(given)}); without the message there is none.`,
      log,
    };
  return {
    name,
    verdict: 'pass',
    says: 'The template writes a system turn only where there is a message for it.',
    log,
  };
}

const isGivenEmpty = (prompt: Prompt) =>
  typeof prompt !== 'string' && prompt.some(({ role }) => role === 'system');

function dateCheck(model: Renderer, rows: readonly TemplateRow[]): InspectionCheck {
  const name = 'date';
  const log = rows.map(
    (row) => `${row.name}: ${row.dated.length > 0 ? row.dated.join(' · ') : 'the same ids on another day'}`,
  );
  if (rows.length === 0) return { name, verdict: 'not applicable', says: 'no prompt is a conversation', log };
  const dated = rows.filter((row) => row.dated.length > 0);
  const [first] = dated;
  const remedy = 'Write a fixed date in place of strftime_now into the chat template of the folder.';
  if (first)
    return {
      name,
      verdict: 'warn',
      says: `The template writes the day of the run into ${dated.length} of ${rows.length} prompts (${JSON.stringify(printable(withoutSpecialTokens(model, first.dated[0]!, ' ').trim(), 80))}): the same data gives other ids tomorrow.`,
      remedy,
      log,
    };
  const { verdict } = doctorCheck(name, 'B05.date', model, [rows]);
  return verdict === 'pass'
    ? { name, verdict, says: 'The prompts have the same ids on another day.', log }
    : {
        name,
        verdict: 'inform',
        says: 'The template writes a date that never changes, as the model was trained with.',
        log,
      };
}

function roundTripCheck(rows: readonly TemplateRow[]): InspectionCheck {
  const lost = rows.filter(({ roundTrip }) => !roundTrip);
  return {
    name: 'round trip',
    ...(lost.length > 0
      ? {
          verdict: 'warn',
          says: `The ids of ${lost.length} of ${rows.length} prompts are others after decoding and encoding (${namesOf(lost)}).`,
          remedy: 'Hand over ids, never text, between sampler and trainer.',
        }
      : { verdict: 'pass', says: 'Ids, decoded and encoded again, are the same ids.' }),
    log: rows.map(
      ({ name, ids, roundTrip }) =>
        `${name}: ${ids.length} ids, ${roundTrip ? 'the same' : 'OTHERS'}: ${ids.join(' ')}`,
    ),
  };
}

function samePathsCheck(rows: readonly TemplateRow[]): InspectionCheck {
  const name = 'same ids in SFT, training and evaluation';
  const differing = rows.filter(
    ({ ids, sftIds, evaluationIds }) => !isSame(ids, sftIds) || !isSame(ids, evaluationIds),
  );
  return {
    name,
    verdict: differing.length > 0 ? 'fail' : 'pass',
    says:
      differing.length > 0
        ? `${differing.length} of ${rows.length} prompts have other ids in training than in SFT or evaluation (${namesOf(differing)}).`
        : `SFT, training and evaluation ask with the same ids: ${rows.length} prompts.`,
    ...(differing.length > 0 && {
      remedy: 'Render the prompts of SFT, training and evaluation with one function.',
    }),
    log: rows.flatMap((row) => [
      `${row.name}`,
      `  training   ${row.ids.join(' ')}`,
      `  SFT        ${row.sftIds.join(' ')}`,
      `  evaluation ${row.evaluationIds.join(' ')}`,
    ]),
  };
}

const namesOf = (rows: readonly TemplateRow[]) => {
  const names = rows.map(({ name }) => name);
  return names.length > 3 ? `${names.slice(0, 3).join('; ')} and ${names.length - 3} more` : names.join('; ');
};

/** A completion out of a row of a table, whoever wrote it. */

import { isObject } from '../../../formats/json.js';
import { known } from '../../../formats/known.js';
import { numberOf } from '../rows/metric-row.js';
import type { CompletedRow } from './completed.js';
import { isTokenExport, splitTokenExport } from './token-export.js';

/** The names under which tables have a thing; the first that a row has wins. */
const NAMES = {
  step: ['step', 'global_step', 'train_step', 'iteration', 'training_step'],
  prompt: ['prompt_text', 'prompt', 'query', 'question', 'input', 'problem', 'messages', 'prompt_messages'],
  text: ['completion', 'completion_text', 'response', 'output', 'generation', 'generated_text', 'text'],
  promptIds: ['prompt_ids', 'prompt_token_ids', 'prompt_tokens', 'query_ids'],
  ids: [
    'completion_ids',
    'completion_token_ids',
    'response_ids',
    'response_token_ids',
    'output_ids',
    'output_token_ids',
    'generated_ids',
  ],
  /** Prompt and completion in one list. */
  allIds: ['input_ids', 'token_ids', 'tokens', 'ids'],
  mask: ['completion_mask', 'response_mask', 'loss_mask', 'action_mask', 'mask'],
  samplerLogprobs: [
    'completion_logprobs',
    'sampling_logprobs',
    'rollout_log_probs',
    'rollout_logprobs',
    'inference_logprobs',
    'logprobs',
  ],
  oldLogprobs: ['old_logprobs', 'old_log_probs', 'old_per_token_logps'],
  referenceLogprobs: ['ref_logprobs', 'ref_log_probs', 'reference_logprobs', 'ref_per_token_logps'],
  policyLogprobs: ['policy_logprobs', 'log_probs', 'per_token_logps'],
  total: ['reward', 'score', 'total_reward', 'rewards', 'scores'],
  advantage: ['advantage', 'advantages', 'adv'],
  finish: ['finish_reason', 'stop_reason', 'finish'],
  truncated: ['is_truncated', 'truncated', 'clipped'],
  group: ['group', 'group_id', 'uid', 'prompt_id', 'problem_id', 'example_id', 'prompt_index', 'group_index'],
  answer: ['answer', 'ground_truth', 'gts', 'solution', 'target'],
  provider: ['provider', 'judge', 'judge_provider'],
  reply: ['judge_reply', 'raw_reply', 'judge_response'],
} as const;

type Thing = keyof typeof NAMES;

const quoted = (names: readonly string[]) => `"(?:${names.join('|')})"\\s*:\\s*`;
const HAS_COMPLETION = new RegExp(`${quoted([...NAMES.text, ...NAMES.ids, ...NAMES.allIds])}["[{]`);
const HAS_VALUE = new RegExp(quoted([...NAMES.total, ...NAMES.advantage, ...NAMES.mask]));

/** Loguru’s rows have a text, too. */
const IS_LOGURU = /"record"\s*:\s*\{\s*"elapsed"/;

/**
 * Whether a line of JSON looks like a completion with what training made of it; of a long line the beginning is enough,
 * for what follows the text may stand behind it.
 */
export const looksCompleted = (line: string, isWhole = true): boolean =>
  /^\s*\{\s*"/.test(line) &&
  !IS_LOGURU.test(line) &&
  HAS_COMPLETION.test(line) &&
  (!isWhole || HAS_VALUE.test(line));

/** A row's completion and its step; undefined when it has neither text nor ids. */
export function completedRow(
  given: Record<string, unknown>,
): { completed: CompletedRow; step?: number } | undefined {
  const row = isTokenExport(given) ? splitTokenExport(given) : given;
  const get = (thing: Thing) => {
    const name = NAMES[thing].find((key) => Object.hasOwn(row, key) && row[key] !== null);
    return name === undefined ? undefined : row[name];
  };
  const text = textOf(get('text'));
  const { promptIds, ids, mask } = tokensOf(get);
  if (text === undefined && ids === undefined) return undefined;
  const prompt = get('prompt');
  const step = numberOf(get('step'));
  const completed: CompletedRow = {
    rewards: rewardsOf(row),
    ...known({
      prompt: textOf(prompt),
      messages: Array.isArray(prompt) && prompt.every(isObject) ? prompt : undefined,
      promptIds,
      text,
      ids,
      mask,
      samplerLogprobs: numbers(get('samplerLogprobs')),
      oldLogprobs: numbers(get('oldLogprobs')),
      referenceLogprobs: numbers(get('referenceLogprobs')),
      policyLogprobs: numbers(get('policyLogprobs')),
      total: comparedTotal(row, numberOf(get('total'))),
      advantage: advantageOf(get('advantage')),
      length: isOurs(row) ? numberOf(row.length) : undefined,
      finish: finishOf(get('finish'), get('truncated')),
      group: groupOf(row, get('group')),
      answer: textOf(get('answer')),
      rules: isOurs(row) ? rulesOf(row.reward_rules) : undefined,
      provider: textOf(get('provider')),
      reply: textOf(get('reply')),
    }),
  };
  return { completed, ...(step !== undefined && Number.isFinite(step) && { step }) };
}

/** Rows of ours have what was graded; what was compared is that without a KL that is taken from rewards. */
function comparedTotal(row: Record<string, unknown>, total: number | undefined): number | undefined {
  const penalty = isOurs(row) && isObject(row.rewards) ? numberOf(row.rewards.kl_penalty) : undefined;
  return total === undefined || penalty === undefined ? total : total - penalty;
}

/** A text; of a conversation, what its messages say. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value) || value.length === 0 || !value.every(isObject)) return undefined;
  const contents = value.map(({ content }) => content);
  return contents.every((content) => typeof content === 'string') ? contents.join('\n') : undefined;
}

function tokensOf(get: (thing: Thing) => unknown) {
  const promptIds = numbers(get('promptIds'));
  const own = numbers(get('ids'));
  const mask = numbers(get('mask'));
  const all = numbers(get('allIds'));
  if (own || !all) return { promptIds, ids: own, mask };
  // Without the prompt's length nothing tells where the completion begins: the mask may be wrong.
  if (!promptIds) return { promptIds, ids: undefined, mask: undefined };
  const begin = promptIds.length;
  return {
    promptIds,
    ids: all.slice(begin),
    mask: mask?.length === all.length ? mask.slice(begin) : mask,
  };
}

function numbers(value: unknown): number[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const list = value.map((item) => (typeof item === 'boolean' ? Number(item) : numberOf(item)));
  return list.every((item) => item !== undefined) ? list : undefined;
}

/** Rewards by function: an object, or columns named for rewards. */
function rewardsOf(row: Record<string, unknown>): Record<string, number> {
  const pairs = isObject(row.rewards)
    ? Object.entries(row.rewards)
    : Object.entries(row).filter(
        ([name]) => /_reward$|^reward_(?!std|mean)/.test(name) && name !== 'total_reward',
      );
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => {
      const number = value === null ? Number.NaN : numberOf(value);
      return number === undefined ? [] : [[name, number]];
    }),
  );
}

function rulesOf(rules: unknown): Record<string, string> | undefined {
  if (!isObject(rules)) return undefined;
  return Object.fromEntries(
    Object.entries(rules).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  );
}

/** One number; of one for each token, the one that all have. */
function advantageOf(value: unknown): number | undefined {
  if (!Array.isArray(value)) return numberOf(value);
  const list = numbers(value);
  return list && list.length > 0 && list.every((item) => item === list[0]) ? list[0] : undefined;
}

/** `stop` or `length`, whatever an engine calls them. */
function finishOf(reason: unknown, truncated: unknown): string | undefined {
  if (typeof reason === 'string') {
    if (/length|max|trunc/i.test(reason)) return 'length';
    return /stop|eos|end/i.test(reason) ? 'stop' : reason;
  }
  return typeof truncated === 'boolean' ? (truncated ? 'length' : 'stop') : undefined;
}

function groupOf(row: Record<string, unknown>, group: unknown): string | undefined {
  // Our own rows number the prompts of a step.
  const own = isOurs(row) ? row.prompt : group;
  return typeof own === 'string' || typeof own === 'number' ? String(own) : undefined;
}

const isOurs = (row: Record<string, unknown>): boolean =>
  typeof row.prompt === 'number' && typeof row.prompt_text === 'string';

/** What the JSON files of a model folder tell, read without what loads them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../../formats/json.js';

type Json = Readonly<Record<string, unknown>>;

/** A JSON object of a folder; empty where there is no such file. */
export function jsonIn(dir: string, name: string): Json {
  const path = join(dir, name);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Json) : {};
}

/** The ids that end a turn: those of the first file that names any, ascending. Undefined where only a token's text does. */
export function endIdsIn(dir: string): number[] | undefined {
  for (const name of ['generation_config.json', 'config.json']) {
    const ids = [jsonIn(dir, name).eos_token_id ?? []].flat() as number[];
    if (ids.length > 0) return [...new Set(ids)].sort((a, b) => a - b);
  }
  return undefined;
}

/** The chat template that a folder's files hold; undefined where they hold none, or several by name. */
export function templateIn(dir: string): string | undefined {
  const path = join(dir, 'chat_template.jinja');
  if (existsSync(path)) return readFileSync(path, 'utf8');
  const { chat_template: own } = jsonIn(dir, 'tokenizer_config.json');
  return typeof own === 'string' ? own : undefined;
}

/**
 * The ids that `tokenizer.json` has put in front of a text; undefined where another file may say otherwise.
 *
 * @param json - `tokenizer.json`
 */
export function frontIdsIn(dir: string, json: Json): number[] | undefined {
  const { add_bos_token: isAdded } = jsonIn(dir, 'tokenizer_config.json');
  if (isAdded != null || json.model === undefined) return undefined;
  const whole = json.post_processor;
  const steps = (
    isObject(whole) && whole.type === 'Sequence' ? whole.processors : [whole ?? []].flat()
  ) as Json[];
  // Other kinds name their tokens in keys of their own.
  if (steps.some(({ type }) => type !== 'TemplateProcessing' && type !== 'ByteLevel')) return undefined;
  const templates = steps.filter(({ type }) => type === 'TemplateProcessing');
  return templates.flatMap(({ single, special_tokens: special }) => {
    const parts = single as { SpecialToken?: { id: string } }[];
    const text = parts.findIndex((part) => part.SpecialToken === undefined);
    const known = special as Record<string, { ids: number[] }>;
    return parts.slice(0, text).flatMap((part) => known[part.SpecialToken!.id]!.ids);
  });
}

import { excerpt } from '../../errors/printable.js';
import { describeJson, isObject, jsonProblem, structureProblem } from '../../formats/json.js';
import { Reason } from '../describe-error.js';

/** A score in [0, 1], with its parts. */
export interface Score {
  value: number;
  parts?: Record<string, number>;
}

const FENCED = /^```(?:json)?[ \t]*\n([\s\S]*?)\n?[ \t]*```$/;

/**
 * The object that a reply is: JSON and nothing else, or that in one fenced block, with white space around.
 * @throws Reason with a quote of the reply
 */
export function readObject(content: string): Record<string, unknown> {
  const text = FENCED.exec(content.trim())?.[1] ?? content.trim();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unreadable(content, `not one JSON object (${jsonProblem(error, text)})`);
  }
  if (!isObject(value)) throw unreadable(content, 'not a JSON object');
  const problem = structureProblem(text);
  if (problem !== undefined) throw unreadable(content, `JSON that ${problem}`);
  if (value.reason !== undefined && typeof value.reason !== 'string')
    throw unreadable(content, `"reason" is ${describeJson(value.reason)}, not text`);
  return value;
}

/**
 * The score in a reply: `{"score": 0.7, "reason": "…"}`; with components `{"scores": {"kind": 0.7, …}}`, of which the
 * score is the weighted mean. Other keys of the object are not looked at.
 *
 * @param components - weights by name
 * @throws Reason for anything else, such as `"0.7"`, 1.2, a component too few or too many
 */
export function readScore(content: string, components?: Readonly<Record<string, number>>): Score {
  const reply = readObject(content);
  if (!components) return { value: inRange(content, '"score"', reply.score) };
  const { scores } = reply;
  if (!isObject(scores)) throw unreadable(content, `"scores" is ${describeJson(scores)}, not an object`);
  const unknown = Object.keys(scores).find((name) => !Object.hasOwn(components, name));
  if (unknown !== undefined)
    throw unreadable(content, `"scores" has ${excerpt(unknown)}, which was not asked for`);
  const parts = Object.fromEntries(
    Object.keys(components).map((name) => {
      const value = Object.hasOwn(scores, name) ? scores[name] : undefined;
      return [name, inRange(content, `"scores" has ${excerpt(name)}, which`, value)];
    }),
  );
  const weights = Object.values(components).reduce((a, b) => a + b, 0);
  const sum = Object.entries(components).reduce((total, [name, weight]) => total + weight * parts[name]!, 0);
  return { value: sum / weights, parts };
}

function inRange(content: string, what: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw unreadable(content, `${what} is ${describeJson(value)}, not a number from 0 to 1`);
}

/** The words of a failure, with the reply. */
export function unreadable(content: string, problem: string): Reason {
  return new Reason(`replied ${excerpt(content)}: ${problem}`);
}

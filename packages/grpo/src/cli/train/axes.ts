import { isSetting } from '../../config/layers/arguments-layer.js';
import { UsageError } from '../../errors/user-error.js';

/** A setting, and the values that it takes one after the other. */
export interface Axis {
  key: string;
  /** As they were written. */
  values: string[];
}

/** One run of a sweep: a value of each axis. */
export interface ArmSettings {
  /** `kl.beta=0.1 rollout.group=8`, which is the name of its folder, too. */
  name: string;
  settings: string[];
}

/** Keys that an arm has of its own. */
const OWN = ['output', 'preset'];

/** More of them are a mistake of one comma. */
const MOST_ARMS = 64;

/**
 * Reads what `--sweep` was given: `KEY=VALUE,VALUE`, and lists in brackets.
 *
 * @param settings - given beside them
 * @throws UsageError
 */
export function readAxes(texts: readonly string[], settings: readonly string[]): Axis[] {
  const axes = texts.map((text) => {
    if (!isSetting(text))
      throw new UsageError(`--sweep takes a setting with its values, such as kl.beta=0,0.1; found '${text}'`);
    const [key, list] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)];
    // A comma within brackets is part of a value.
    const values = list.split(/,(?![^[\]{}]*[\]}])/).map((value) => value.trim());
    if (values.includes('')) throw new UsageError(`--sweep ${text} has a value that is empty`);
    if (new Set(values).size < values.length) throw new UsageError(`--sweep ${text} has a value twice`);
    return { key, values };
  });
  const keys = axes.map(({ key }) => key);
  const given = settings.map((text) => text.slice(0, text.indexOf('=')));
  for (const [i, key] of keys.entries()) {
    if (keys.indexOf(key) < i) throw new UsageError(`--sweep ${key} is given twice: list all values in one`);
    if (given.includes(key))
      throw new UsageError(`${key} is given as a setting and to --sweep; take one out`);
    if (OWN.includes(key)) throw new UsageError(`--sweep cannot vary ${key}`);
  }
  return axes;
}

/**
 * Every combination of the values, the last axis fastest.
 *
 * @throws UsageError for too many
 */
export function armsOf(axes: readonly Axis[]): ArmSettings[] {
  const combined = axes.reduce<string[][]>(
    (arms, { key, values }) => arms.flatMap((arm) => values.map((value) => [...arm, `${key}=${value}`])),
    [[]],
  );
  if (combined.length > MOST_ARMS)
    throw new UsageError(`the sweep has ${combined.length} arms; at most ${MOST_ARMS} are run`);
  return combined.map((settings) => ({ name: settings.join(' '), settings }));
}

/** How two configurations differ. */
import { findKey } from '../../config/keys.js';
import type { UnsupportedSetting } from '../../config/presets/index.js';
import type { ExplainedConfig, Setting } from '../explain/explained.js';

/** A value with its source; undefined where the setting has no effect. */
type Side = Pick<Setting, 'value' | 'unit' | 'source'> | undefined;

export interface Difference {
  key: string;
  /** Its effect, and that of larger and smaller values. */
  help: string;
  a: Side;
  b: Side;
}

/** Lines of the formulas that are not the same. */
interface FormulaDifference {
  /** `L`, or a symbol. */
  symbol: string;
  a: string | undefined;
  b: string | undefined;
}

export interface Differences {
  a: string;
  b: string;
  formula: FormulaDifference[];
  settings: Difference[];
  /** Parts of the original recipes that our settings cannot express. */
  unsupported: { a: readonly UnsupportedSetting[]; b: readonly UnsupportedSetting[] };
}

export function differences(a: ExplainedConfig, b: ExplainedConfig): Differences {
  const [settingsA, settingsB] = [a, b].map(({ settings }) => new Map(settings.map((one) => [one.key, one])));
  const paths = union(settingsA!.keys(), settingsB!.keys());
  const linesA = formulaLinesOf(a);
  const linesB = formulaLinesOf(b);
  return {
    a: a.name,
    b: b.name,
    formula: union(linesA.keys(), linesB.keys())
      .map((symbol) => ({ symbol, a: linesA.get(symbol), b: linesB.get(symbol) }))
      .filter((line) => line.a !== line.b),
    settings: paths
      .map((key) => ({
        key,
        help: findKey(key)!.help,
        a: sideOf(settingsA!.get(key)),
        b: sideOf(settingsB!.get(key)),
      }))
      .filter((one) => JSON.stringify(one.a?.value) !== JSON.stringify(one.b?.value)),
    unsupported: { a: a.unsupported, b: b.unsupported },
  };
}

const sideOf = (setting: Setting | undefined): Side =>
  setting && { value: setting.value, unit: setting.unit, source: setting.source };

function formulaLinesOf({ formula: { loss, where } }: ExplainedConfig): Map<string, string> {
  // A ratio or KL of tokens is compared with one of completions.
  const meanings = where.map(({ symbol, text }) => [symbol.replace(/ₜ$/u, ''), text] as const);
  return new Map([['L', loss.join(' ')], ...meanings]);
}

/** Elements of both, in the order of the first, then of the second. */
const union = (a: Iterable<string>, b: Iterable<string>) => [...new Set([...a, ...b])];

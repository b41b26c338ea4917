import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UserError } from '../../../config/index.js';
import { readWhole } from '../../../formats/read-file.js';
import { decodeUtf8 } from '../../../formats/utf8.js';
import { definitionsIn, fieldDefaults } from './python-source.js';

/** What a TRL installation computes a GRPO step with. */
export interface TrlTree {
  /** `TRL 1.13.0`, or the path where no version is written. */
  name: string;
  /** Functions, classes and methods that the way of a step calls, by name. */
  code: ReadonlyMap<string, string>;
  /** Defaults of `GRPOConfig`, those of its bases in TRL too. */
  defaults: ReadonlyMap<string, string>;
}

const TRAINER = 'trainer/grpo_trainer.py';

/** Methods of the trainer that a step begins in; all others are called from these. */
const ROOTS = [
  ...['get_train_dataloader', '_get_train_sampler', 'training_step', '_prepare_inputs'],
  ...['_generate_and_score_completions', 'compute_loss', 'prediction_step'],
];

/** No source of TRL is this long. */
const MOST_BYTES = 2 ** 23;

/**
 * Reads TRL from a folder: site-packages, the package itself, or a checkout.
 *
 * @throws UserError where there is none
 */
export function readTrl(path: string): TrlTree {
  const folder = [path, join(path, 'trl')].find((place) => existsSync(join(place, TRAINER)));
  if (folder === undefined)
    throw new UserError(`${path} holds no TRL: neither ${TRAINER} nor trl/${TRAINER} is there`, {
      hint: 'Give the folder site-packages of an environment, the folder trl in it, or a checkout of huggingface/trl.',
    });
  const definitions = new Map<string, string>();
  // The trainer's own file first: of functions of one name, its own counts.
  for (const file of [TRAINER, ...sourcesIn(folder)])
    for (const [name, code] of definitionsIn(textOf(join(folder, file))))
      if (!definitions.has(name)) definitions.set(name, code);
  return {
    name: versionOf(folder) ?? path,
    code: reached(definitions),
    defaults: defaultsOf('GRPOConfig', definitions),
  };
}

const textOf = (path: string) => decodeUtf8(path, 'the source', readWhole(path, 'the source', MOST_BYTES));

/** Sources of the package, by path, its experiments left out. */
const sourcesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.py') && !/^(experimental|cli|scripts)\b/.test(name))
    .sort();

/** From the package, or from what pip wrote beside it. */
function versionOf(folder: string): string | undefined {
  const beside = readdirSync(dirname(folder)).map((name) => /^trl-(.+)\.dist-info$/.exec(name)?.[1]);
  const written = /^__version__\s*=\s*["']([^"']+)/m.exec(textOf(join(folder, '__init__.py')))?.[1];
  const version = written ?? beside.find((own) => own !== undefined);
  return version && `TRL ${version}`;
}

/** The definitions that the way of a step calls, of the trainer's methods and of TRL's functions. */
function reached(definitions: ReadonlyMap<string, string>): Map<string, string> {
  const found = new Map<string, string>();
  const open = ROOTS.map((name) => `GRPOTrainer.${name}`);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const code = definitions.get(name);
    if (code === undefined || found.has(name)) continue;
    found.set(name, code);
    open.push(...[...code.matchAll(/\bself\.(\w+)/g)].map(([, method]) => `GRPOTrainer.${method}`));
    open.push(...[...code.matchAll(/(?<![.\w])(\w+)(?=\()/g)].map(([, called]) => called!));
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Defaults of a class and of its bases. */
function defaultsOf(name: string, definitions: ReadonlyMap<string, string>): Map<string, string> {
  const code = definitions.get(name);
  if (code === undefined) return new Map();
  const bases = /^class\s+\w+\(([^)]*)\)/m.exec(code)?.[1]?.split(',') ?? [];
  const inherited = bases.flatMap((base) => [...defaultsOf(base.trim(), definitions)]);
  return new Map([...inherited, ...fieldDefaults(code)]);
}

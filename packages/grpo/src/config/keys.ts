import { z } from 'zod';
import { configSchema } from './schema.js';
import { describeType, type ValueSchema } from './value-type.js';

/** A setting: one leaf of the schema. */
export interface Key {
  /** With dots, as on the command line: `rollout.group`. */
  path: string;
  /** First part of the path; empty for keys at the top. */
  section: string;
  /** Its values, in words. */
  type: string;
  /** Whether it is a number, a list, … */
  schema: ValueSchema;
  default: unknown;
  help: string;
  unit: string | undefined;
}

const root = z.toJSONSchema(configSchema, { io: 'input' }) as ValueSchema;

function leaves(schema: ValueSchema, path: string[]): Key[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const here = [...path, name];
    if (child.type === 'object') return leaves(child, here);
    return {
      path: here.join('.'),
      section: path.join('.'),
      type: describeType(child),
      schema: child,
      default: child.default,
      help: child.description ?? '',
      unit: child.unit,
    };
  });
}

/** Every setting, in the schema's order. */
export const keys: readonly Key[] = leaves(root, []);

const byPath = new Map(keys.map((key) => [key.path, key]));

/** The setting at a dotted path, or undefined. */
export function findKey(path: string): Key | undefined {
  return byPath.get(path);
}

/** Names of the sections, in the schema's order. */
export const sections: readonly string[] = [
  ...new Set(keys.map((key) => key.section).filter((name) => name !== '')),
];

/** The schema at a path that may lead into a list (`rewards.0.weight`), or undefined. */
export function schemaAt(path: readonly PropertyKey[]): ValueSchema | undefined {
  let schema: ValueSchema | undefined = root;
  for (const part of path) {
    schema = typeof part === 'number' ? schema?.items : schema?.properties?.[String(part)];
  }
  return schema;
}

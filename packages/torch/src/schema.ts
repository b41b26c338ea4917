import type { ResolvedOperator } from './native.js';

export interface SchemaArgument {
  name: string;
  type: string;
  keywordOnly: boolean;
  /** Has a default or may be None. */
  optional: boolean;
}

/** The arguments in the text of a schema such as `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`. */
export function parseSchema(schema: string): SchemaArgument[] {
  const inside = schema
    .slice(schema.indexOf('(') + 1, schema.lastIndexOf(') ->'))
    .replaceAll(/\([a-z]!?(?: -> \*)?\)/g, ''); // alias annotations such as (a!)
  const parts = inside.split(/,\s*(?![^[]*\])/).filter((part) => part !== '');
  const star = parts.indexOf('*');
  return parts.flatMap((part, i) => {
    if (i === star) return [];
    const [declaration, initial] = part.split('=', 2);
    const [type, name] = declaration!.trim().split(' ') as [string, string];
    const optional = initial !== undefined || type.endsWith('?');
    return [{ name, type, keywordOnly: star >= 0 && i > star, optional }];
  });
}

/**
 * Differences that break calls written for `schema` on the operator that was found: missing arguments, arguments
 * in another place or of another type, and new ones that must be given. An optional argument may be missing: giving
 * it is then an error of that call.
 */
export function schemaProblems(schema: string, found: Pick<ResolvedOperator, 'schema'>): string[] {
  const expected = parseSchema(schema);
  const actual = parseSchema(found.schema);
  const problems = expected.flatMap((argument, place) => {
    const at = actual.findIndex((a) => a.name === argument.name);
    if (at < 0) return argument.optional ? [] : [`has no argument '${argument.name}'`];
    if (at !== place && !argument.keywordOnly)
      return [`takes argument '${argument.name}' at place ${at + 1}, not ${place + 1}`];
    const { type } = actual[at]!;
    return accepts(type, argument.type)
      ? []
      : [`takes argument '${argument.name}' as ${type}, not ${argument.type}`];
  });
  const fresh = actual.filter((a) => !a.optional && !expected.some((e) => e.name === a.name));
  return [...problems, ...fresh.map((a) => `needs an argument '${a.name}' that is not known here`)];
}

function accepts(found: string, expected: string): boolean {
  const [to, from] = [plain(found), plain(expected)];
  return to === from || to === `${from}?`;
}

/** SymInt is an int that a graph capture may leave open; to a caller they are the same. */
const plain = (type: string) => type.replace('SymInt', 'int');

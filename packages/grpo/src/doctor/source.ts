/** What a check rests on: something that a stranger can open. */

/**
 * An issue or pull request (`huggingface/trl#3500`), a file at a commit (`huggingface/trl@f2cd57710ae3:trl/trainer/utils.py`),
 * a paper (`arXiv:2402.03300`), or a measurement of this repository (`bench/gap.mjs`).
 */
export type Source =
  | `${string}/${string}#${number}`
  | `${string}/${string}@${string}:${string}`
  | `arXiv:${string}`
  | `bench/${string}`
  | `parity/${string}`;

const FORMS: readonly (readonly [RegExp, string])[] = [
  [/^([\w.-]+\/[\w.-]+)#(\d+)$/, 'https://github.com/$1/issues/$2'],
  [/^([\w.-]+\/[\w.-]+)@([0-9a-f]{7,40}):([\w./-]+)$/, 'https://github.com/$1/blob/$2/$3'],
  [/^arXiv:(\d{4}\.\d{5})$/, 'https://arxiv.org/abs/$1'],
  [/^((?:bench|parity)\/[\w./-]+\.\w+)$/, '$1'],
];

/** Where to open a source: an address, or a path of this repository. Undefined for what is no source. */
export function addressOf(source: string): string | undefined {
  const form = FORMS.find(([pattern]) => pattern.test(source));
  return form && source.replace(...form);
}

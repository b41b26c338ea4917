/** Programs in documentation, so that a test can run them. */

/** A program and the file that it is written to. */
export interface Example {
  file: string;
  code: string;
}

/** The TypeScript blocks of a Markdown page; the first line of each names its file: `// train.ts`. */
export function markdownExamples(text: string): Example[] {
  return [...text.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)].map(([, file, code]) => ({
    file: file!,
    code: code!,
  }));
}

/** The examples in the TSDoc of a module, as `NAME-1.ts`, `NAME-2.ts`, … */
export function tsdocExamples(name: string, text: string): Example[] {
  const blocks = [...text.matchAll(/^ \* @example\n(.*?)(?=^ \*(?: @|\/))/gms)];
  return blocks.map(([, block], i) => ({
    file: `${name}-${i + 1}.ts`,
    code: block!.replaceAll(/^ \* ?/gm, ''),
  }));
}

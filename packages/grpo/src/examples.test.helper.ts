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

/** A command of a page, and the lines that the page shows of its output. */
export interface ConsoleExample {
  command: string;
  output: string[];
}

/** The commands of the console blocks of a Markdown page, each after a `$`; a here-document goes up to its END. */
export function consoleExamples(text: string): ConsoleExample[] {
  return [...text.matchAll(/^```console\n(.*?)^```$/gms)].flatMap(([, block]) => {
    const examples: ConsoleExample[] = [];
    let isOpen = false;
    for (const line of block!.trimEnd().split('\n')) {
      if (line.startsWith('$ ')) {
        examples.push({ command: line.slice(2), output: [] });
        isOpen = line.includes('<<');
      } else if (isOpen) {
        examples.at(-1)!.command += `\n${line}`;
        isOpen = line !== 'END';
      } else examples.at(-1)!.output.push(line);
    }
    return examples;
  });
}

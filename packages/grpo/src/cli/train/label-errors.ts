/** Puts a label before each line that this process writes to standard error, which others write to as well. */
export function labelErrors(label: string): void {
  const { stderr } = process;
  const write = stderr.write.bind(stderr);
  stderr.write = ((chunk: string | Uint8Array) =>
    write(
      Buffer.from(chunk as string)
        .toString()
        .replace(/^(?=.)/gm, `${label}: `),
    )) as typeof stderr.write;
}

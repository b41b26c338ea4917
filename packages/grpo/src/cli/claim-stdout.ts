/**
 * Reserves standard output for text that a program reads: until this is disposed, other prints, by a reward say,
 * go to standard error.
 */
export function claimStdout(): { write(text: string): boolean } & Disposable {
  const { stdout, stderr } = process;
  const write = stdout.write;
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return {
    write: (text) => write.call(stdout, text),
    [Symbol.dispose]: () => {
      stdout.write = write;
    },
  };
}

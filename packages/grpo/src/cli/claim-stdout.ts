/**
 * Takes standard output for what a program reads: until this is disposed, what else is printed there, by a reward say,
 * goes to standard error.
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

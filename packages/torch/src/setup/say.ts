/** Says one line of progress to the person who waits. */
export interface Say {
  (line: string): void;
  /** Writes over the last such line. There on a terminal only; a log gets whole lines. */
  over?(line: string): void;
}

/** Speaks on a stream, or to nobody. */
export function speaker(stream: NodeJS.WriteStream | undefined): Say {
  if (!stream) return () => {};
  if (!stream.isTTY) return (line) => stream.write(`${line}\n`);
  const erase = '\r\x1b[K';
  const say: Say = (line) => stream.write(`${erase}${line}\n`);
  say.over = (line) => stream.write(`${erase}${line}`);
  return say;
}

/** What a process executed, as V8 wrote it down (NODE_V8_COVERAGE). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface CoverageFile {
  result: { url: string; functions: { ranges: Range[] }[] }[];
}

interface Range {
  startOffset: number;
  endOffset: number;
  count: number;
}

/** Whether the place of a module, an offset in its text, was executed. */
export type Executed = (url: string, offset: number) => boolean;

/** Reads the coverage of the processes that wrote to a folder. */
export function readCoverage(dir: string): Executed {
  const ranges = new Map<string, Range[]>();
  for (const name of readdirSync(dir)) {
    const { result } = JSON.parse(readFileSync(join(dir, name), 'utf8')) as CoverageFile;
    for (const { url, functions } of result)
      ranges.set(url, [...(ranges.get(url) ?? []), ...functions.flatMap((one) => one.ranges)]);
  }
  return (url, offset) => executed(ranges.get(url) ?? [], offset);
}

/** The count of the smallest range around a place is its own. */
export function executed(ranges: readonly Range[], offset: number): boolean {
  let smallest: Range | undefined;
  for (const range of ranges) {
    if (offset < range.startOffset || offset >= range.endOffset) continue;
    const size = range.endOffset - range.startOffset;
    if (!smallest || size <= smallest.endOffset - smallest.startOffset) smallest = range;
  }
  return smallest !== undefined && smallest.count > 0;
}

import { FormatError } from '../../errors/format-error.js';
import { excerpt } from '../../errors/printable.js';
import { Collector } from './collector.js';
import { linesOf } from './lines.js';
import { metricRow } from './metric-row.js';
import type { Place } from './place.js';
import { producerOf } from './producers/index.js';
import { BrokenParts, type Reading } from './reading.js';
import { seriesOf } from './series-of.js';

/** Whether the first line names columns, a step and metrics among them. */
export function isMetricsTable({ head }: Place): boolean {
  const names = cells(head.split('\n', 1)[0]!);
  return (
    names.length > 2 &&
    names.some((name) => /^(_?step|global_step|train_step|iteration|iter)$|\/global_step$/i.test(name)) &&
    names.some((name) => /loss|reward|kl/i.test(name)) &&
    names.every((name) => /^[\w][\w/. ()%:@-]*$/.test(name))
  );
}

/**
 * Reads a table of metrics with a header, as grpo-dual writes it and trackers export it.
 *
 * @throws FormatError when no row has metrics
 */
export function readMetricsTable({ path }: Place): Reading {
  const broken = new BrokenParts();
  const collector = new Collector();
  let names: string[] | undefined;
  for (const { line, text } of linesOf(path)) {
    const values = cells(text);
    if (!names) {
      names = values;
      continue;
    }
    if (values.length !== names.length) {
      const reason = `${values.length} cells, the header has ${names.length}: ${excerpt(text)}`;
      broken.add({ file: path, line, reason });
      continue;
    }
    const row = metricRow(Object.fromEntries(names.map((name, i) => [name, values[i]])));
    if (row) collector.add(row, line);
    else broken.add({ file: path, line, reason: `no numbers: ${excerpt(text)}` });
  }
  if (collector.rows === 0) throw new FormatError(path, 'the table has no row of metrics under its header');
  const collected = collector.finish();
  const { series, declared, isGrpo, notes } = seriesOf(collected);
  const { name } = producerOf(collected.names);
  const kind = `${name === 'unknown' ? '' : `${name} `}table of metrics, CSV`;
  return { kind, files: [path], series, declared, isGrpo, broken, notes };
}

/** The cells of a line, quotes taken off. */
function cells(line: string): string[] {
  const found = line.trim().matchAll(/(?:^|[,;\t])(?:"((?:[^"]|"")*)"|([^,;\t]*))/g);
  return [...found].map(([, quoted, bare]) => (quoted ?? bare ?? '').replaceAll('""', '"').trim());
}

/** Completions and findings as Markdown. */
import { findingLine } from '../../doctor/finding-line.js';
import type { CompletionRow, FindingRow } from '../sink.js';

/** Characters of a text that are shown: the run's files have all of them. */
const MOST = 4000;

export function completionText(row: CompletionRow): string {
  const { reward, advantage, length, finish_reason: ended } = row;
  const parts = Object.entries(row.rewards).map(([name, value]) => `${name} ${value}`);
  const facts = [
    `reward ${reward}${parts.length > 1 ? ` (${parts.join(', ')})` : ''}`,
    ...(advantage === undefined ? [] : [`advantage ${advantage.toFixed(3)}`]),
    `${length} tokens`,
    `ended by ${ended}`,
  ];
  return `${facts.join(' · ')}\n\nPrompt\n\n${block(row.prompt_text)}\n\nCompletion\n\n${block(row.completion)}`;
}

export const findingsText = (findings: readonly FindingRow[]): string =>
  findings.map((finding) => `- ${findingLine(finding)}`).join('\n');

/** A model writes what it likes, fences and HTML too: indented lines are a block whatever is in them. */
function block(text: string): string {
  const shown =
    text.length > MOST ? `${text.slice(0, MOST)}\n… (${text.length - MOST} more characters)` : text;
  return shown.replace(/^/gm, '    ');
}

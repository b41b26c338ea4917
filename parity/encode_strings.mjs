/** Reads {folder, strings} as JSON, one a line, and prints {ids, texts} by the tokenizer of the folder. */
import { createInterface } from 'node:readline';
import { Tokenizer } from '../packages/grpo/dist/text/tokenizer.js';

for await (const line of createInterface({ input: process.stdin })) {
  const { folder, strings } = JSON.parse(line);
  const tokenizer = Tokenizer.load(folder);
  const ids = strings.map((text) => tokenizer.encode(text));
  console.log(JSON.stringify({ ids, texts: ids.map((each) => tokenizer.decode(each)) }));
}
